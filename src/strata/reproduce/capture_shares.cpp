// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/capture_shares.hpp"

#include "strata/graph/bind.hpp"
#include "strata/training/program.hpp"
#include "strata/zoo/zoo.hpp"

#include <algorithm>

namespace strata {
namespace {

double seconds_of_classes(const CaptureCase& one, std::string_view beginning) {
  double seconds = 0;
  for (const auto& [name, value] : one.class_s) {
    if (name.starts_with(beginning)) seconds += value;
  }
  return seconds;
}

}  // namespace

const CaptureCase* find_case(const CaptureStudy& study, std::string_view framework,
                             std::string_view network, std::int64_t batch, std::string_view part) {
  const auto found =
      std::find_if(study.cases.begin(), study.cases.end(), [&](const CaptureCase& one) {
        return one.framework == framework && one.network == network && one.batch == batch &&
               one.part == part;
      });
  return found == study.cases.end() ? nullptr : &*found;
}

double part_of_whole(double part, double whole) { return whole > 0 ? part / whole : 0; }

double share_of_convolutions(const CaptureCase& one) {
  return part_of_whole(seconds_of_classes(one, "convolution"), one.kernel_s);
}
double share_of_winograd(const CaptureCase& one) {
  return part_of_whole(seconds_of_classes(one, "convolution winograd"), one.kernel_s);
}
double share_of_pool_backward(const CaptureCase& one) {
  return part_of_whole(one.pool_backward_s, one.kernel_s);
}
double share_of_collectives(const CaptureCase& one) {
  return part_of_whole(seconds_of_classes(one, "collective"), one.kernel_s);
}
double share_of_copies(const CaptureCase& one) {
  return part_of_whole(one.copy_s, one.copy_s + one.kernel_s);
}
double share_of_launches(const CaptureCase& one) {
  return part_of_whole(one.launch_api_s, one.api_s);
}
double share_of_idle(const CaptureCase& one) {
  return 1 - part_of_whole(std::min(one.busy_s, one.wall_s), one.wall_s);
}

std::optional<double> share_of_dram(const CaptureCase& one, const Roofs& roofs) {
  const auto read = one.counted.find("dram_read_bytes");
  const auto written = one.counted.find("dram_write_bytes");
  if (read == one.counted.end() || written == one.counted.end() || !(one.kernel_s > 0))
    return std::nullopt;
  return (read->second + written->second) / one.kernel_s / roofs.outer().bytes_per_s;
}

std::optional<double> link_of(const Machine& machine) {
  std::optional<double> most;
  for (const Link& link : machine.links) {
    if (link.kind == LinkKind::host_to_device &&
        link.host_memory.value_or(HostMemory::pinned) == HostMemory::pinned)
      most = std::max(most.value_or(0), link.bandwidth_bytes_per_s.value);
  }
  return most;
}

IterationWork iteration_work(std::string_view network, std::int64_t batch) {
  const Graph graph = build_network(network);
  const BoundGraph bound = bind_graph(graph, {{"batch", batch}});
  const Program program = make_program(bound, {});
  IterationWork work;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    work.flop += static_cast<double>(program.steps[step].flop);
    work.bytes += static_cast<double>(program.read_bytes(step) + program.write_bytes(step));
  }
  return work;
}

}  // namespace strata
