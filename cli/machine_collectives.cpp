// SPDX-License-Identifier: Apache-2.0
#include "cli/machine_collectives.hpp"

#include "cli/cluster_text.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/machine_at_hand.hpp"
#include "cli/machine_command.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/progress.hpp"
#include "strata/base/error.hpp"
#include "strata/machine/cluster_file.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/machine/recognise_gpu.hpp"
#include "strata/measure/ceilings/collectives.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

/// The machine that ships for these GPUs; else the one that was measured on this host.
Machine machine_of_gpu(const DeviceInfo& device) {
  const RecognisedGpu known = recognise_gpu({.name = device.name,
                                             .memory_bytes = device.memory_bytes,
                                             .multiprocessors = device.sm_count});
  if (known.machine != nullptr) return *known.machine;
  if (const auto file = machine_at_hand()) return load_machine(file->string());
  fail(ErrorKind::environment,
       "no machine that ships is a {} ({}): run strata machine measure first, and its result will "
       "be the cluster's machine",
       device.name, known.missing);
}

void refuse_other_flags(const Arguments& given) {
  for (const Flag& flag : {machine_device_flag, machine_calibrate_flag, machine_framework_flag,
                           machine_only_flag, html_flag}) {
    if (given.has(flag)) fail(ErrorKind::usage, "--{} does not go with --collectives", flag.name);
  }
}

}  // namespace

int measure_cluster(const Request& request) {
  const Arguments& given = request.arguments;
  refuse_other_flags(given);
  check_outputs(given, {&machine_json_flag, &machine_output_flag});
  const std::unique_ptr<GpuGroup> group =
      open_gpu_group(std::string(given.value(machine_nccl_flag).value_or("")));
  const DeviceInfo& first = group->devices().front();
  const Machine machine = machine_of_gpu(first);
  if (given.has(machine_dry_run_flag)) {
    print(
        fmt::format("{} on {} {}: all-reduce, all-gather, reduce-scatter, all-to-all and point "
                    "to point of 8 B to 1 GiB\n",
                    group->library(), group->devices().size(), first.name));
    return exit_code::done;
  }
  const CollectiveOptions options{.is_quick = given.has(machine_quick_flag)};
  const Cluster cluster =
      measure_collectives(*group, machine, options, [](std::string_view what, double share) {
        show_progress(fmt::format("{:3.0f} % {}", 100 * share, what));
      });
  clear_progress();
  OutputFiles outputs(given);
  outputs.write(machine_json_flag, [&] { return to_json(cluster); });
  outputs.write(machine_output_flag, [&] { return to_json(cluster); });
  if (!outputs.took_stdout()) print(cluster_text(cluster, request.style));
  if (!given.has(machine_json_flag) && !given.has(machine_output_flag))
    print_to_stderr("note: -o FILE keeps it; strata predict --on FILE takes it\n");
  return exit_code::done;
}

}  // namespace strata
