// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/graph/bind.hpp"
#include "strata/reproduce/capture_study.hpp"
#include "strata/reproduce/compared_frameworks.hpp"
#include "strata/training/program.hpp"
#include "strata/zoo/zoo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace strata {
namespace {

constexpr std::array<const char*, 3> study_networks = {"alexnet", "resnet18", "vgg16"};
constexpr std::array<std::int64_t, 5> study_batches = {4, 8, 16, 32, 64};

class CaptureFindings {
 public:
  CaptureFindings(const CaptureStudy& study, const RooflineStudy* own) : study_(study), own_(own) {}

  std::vector<Finding> make() {
    for (const char* network : study_networks) {
      copies(network);
      convolutions(network);
      pooling(network);
      launches(network);
      idle(network);
      concurrency(network);
    }
    add({"8", "any", "kernels of a layer differ between GPUs", "yes", "", false, false,
         "one GPU was measured"});
    most_flop();
    jax();
    for (Finding& one : framework_findings(study_, own_)) add(std::move(one));
    overheads();
    return std::move(findings_);
  }

 private:
  const CaptureCase* find(std::string_view framework, std::string_view network, std::int64_t batch,
                          std::string_view part) const {
    const auto found =
        std::find_if(study_.cases.begin(), study_.cases.end(), [&](const CaptureCase& one) {
          return one.framework == framework && one.network == network && one.batch == batch &&
                 one.part == part;
        });
    return found == study_.cases.end() ? nullptr : &*found;
  }

  void add(Finding finding) { findings_.push_back(std::move(finding)); }

  void add_missing(const char* number, std::string_view network, std::string_view what,
                   std::string_view printed) {
    add({number, std::string(network), std::string(what), std::string(printed), "not measured",
         false, false, "the results do not hold it"});
  }

  /// A share at every batch: "12 · 9 · 6 · 4 · 3 %"; nothing when a batch is missing.
  template <class Share>
  std::optional<std::vector<double>> shares(std::string_view network, std::string_view part,
                                            const Share& share) const {
    std::vector<double> values;
    for (const std::int64_t batch : study_batches) {
      const CaptureCase* const one = find("pytorch", network, batch, part);
      if (one == nullptr) return std::nullopt;
      values.push_back(share(*one));
    }
    return values;
  }

  static std::string in_percent(const std::vector<double>& values) {
    std::string text;
    for (const double value : values)
      text += fmt::format("{}{:.3g}", text.empty() ? "" : " · ", 100 * value);
    return text + " %";
  }

  static double part_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

  static double class_seconds(const CaptureCase& one, std::string_view beginning) {
    double seconds = 0;
    for (const auto& [name, value] : one.class_s)
      if (name.starts_with(beginning)) seconds += value;
    return seconds;
  }

  void copies(const char* network) {
    const auto found = shares(network, "iteration", [](const CaptureCase& one) {
      return part_of(one.copy_s, one.copy_s + one.kernel_s);
    });
    const char* const what = "copies, of device time, batch 4 … 64";
    if (!found) return add_missing("1", network, what, "falls with the batch");
    add({"1", network, what, "falls with the batch", in_percent(*found), true,
         found->front() > found->back(),
         "the report's were broadcasts between GPUs, 45 % at batch 4; here images to one GPU"});
  }

  void convolutions(const char* network) {
    const auto all = shares(network, "iteration", [](const CaptureCase& one) {
      return part_of(class_seconds(one, "convolution"), one.kernel_s);
    });
    if (!all) return add_missing("2", network, "convolution, of kernel time", "dominates");
    add({"2", network, "convolution, of kernel time, batch 4 … 64", "dominates", in_percent(*all),
         true, std::all_of(all->begin(), all->end(), [](double share) { return share > 0.3; }),
         "holds: above 30 % at every batch"});
    const auto winograd = shares(network, "iteration", [](const CaptureCase& one) {
      return part_of(class_seconds(one, "convolution winograd"), one.kernel_s);
    });
    const bool rises = (*winograd)[2] > winograd->front() && (*winograd)[2] > winograd->back();
    const bool is_used = *std::max_element(winograd->begin(), winograd->end()) > 0;
    add({"3", network, "Winograd, of kernel time, batch 4 … 64", "rises to 16, then falls (K80)",
         in_percent(*winograd), true, rises,
         is_used ? "" : "today's library takes implicit GEMM on tensor units instead"});
  }

  void pooling(const char* network) {
    const auto found = shares(network, "iteration", [](const CaptureCase& one) {
      return part_of(one.pool_backward_s, one.kernel_s);
    });
    const char* const what = "max-pool backward, of kernel time, batch 4 … 64";
    if (!found) return add_missing("4", network, what, "grows with the batch");
    add({"4", network, what, "grows with the batch", in_percent(*found), true,
         found->back() > found->front(), ""});
  }

  void launches(const char* network) {
    const auto found = shares(network, "backward", [](const CaptureCase& one) {
      return part_of(one.launch_api_s, one.api_s);
    });
    const char* const what = "launches, of API time in backward, batch 4 … 64";
    if (!found) return add_missing("5", network, what, "about 100 %, less at 64");
    const bool holds = found->front() > 0.9 && found->back() < found->front();
    add({"5", network, what, "about 100 %, less at 64", in_percent(*found), true, holds, ""});
  }

  void idle(const char* network) {
    const auto found = shares(network, "iteration", [](const CaptureCase& one) {
      return 1 - part_of(std::min(one.busy_s, one.wall_s), one.wall_s);
    });
    const char* const what = "GPU without a kernel, of a step, batch 4 … 64";
    if (!found) return add_missing("6", network, what, "launch-bound at small batch");
    add({"6", network, what, "launch-bound at small batch", in_percent(*found), true,
         found->front() > 0.5 && found->back() < found->front(),
         "holds: idle more than half of the step at batch 4, less at 64"});
  }

  void concurrency(const char* network) {
    const CaptureCase* const one = find("pytorch", network, 16, "iteration");
    const char* const what = "kernels at the same time, of kernel time, batch 16";
    if (one == nullptr) return add_missing("7", network, what, "0.0055 %");
    const double share = part_of(one->concurrent_s, one->busy_s);
    add({"7", network, what, "0.0055 %", fmt::format("{:.2g} %", 100 * share), true, share < 0.01,
         "675.8 µs of 12.375 s; holds: below 1 %"});
  }

  /// FLOP of a training iteration at batch 16, counted and not measured.
  static double flop_of(const char* network) {
    const Graph graph = build_network(network);
    const BoundGraph bound = bind_graph(graph, {{"batch", 16}});
    const Program program = make_program(bound, {});
    double flop = 0;
    for (const Step& step : program.steps) flop += static_cast<double>(step.flop);
    return flop;
  }

  void most_flop() {
    std::string found;
    double most = 0;
    std::string winner;
    for (const char* network : study_networks) {
      const double flop = flop_of(network);
      found += fmt::format("{}{} {}", found.empty() ? "" : ", ", network, format_flop(flop));
      if (flop > most) {
        most = flop;
        winner = network;
      }
    }
    add({"9", "all", "FLOP of an iteration at batch 16", "VGG-16 has the most", found, true,
         winner == "vgg16", "counted from the layers"});
  }

  void jax() {
    for (const std::int64_t batch : study_batches) {
      const CaptureCase* const theirs = find("jax", "alexnet", batch, "iteration");
      const CaptureCase* const ours = find("pytorch", "alexnet", batch, "iteration");
      if (theirs == nullptr || ours == nullptr) continue;
      add({"JAX", "alexnet", fmt::format("a step at batch {}, PyTorch and JAX", batch), "",
           fmt::format("{} ({:.0f} kernels), {} ({:.0f})", format_time(ours->kernel_s),
                       ours->launches, format_time(theirs->kernel_s), theirs->launches),
           false, false, "kernel time"});
    }
  }

  void overheads() {
    for (const CaptureOverhead& one : study_.overheads) {
      const double value = overhead_of(one);
      add({"overhead", "resnet50", fmt::format("wall time with {}, batch 128", one.profiler), "",
           fmt::format("{:+.2f} %", 100 * value), false, false,
           fmt::format("median of {} turns{}", one.watched_ms.size(),
                       one.profiler == "strata" ? "; at most 1.5 % is the aim" : "")});
    }
  }

  const CaptureStudy& study_;
  const RooflineStudy* own_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> reproduce_capture(const CaptureStudy& study, const RooflineStudy* own) {
  return CaptureFindings(study, own).make();
}

}  // namespace strata
