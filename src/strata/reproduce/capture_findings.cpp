// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/capture_shares.hpp"
#include "strata/reproduce/compared_frameworks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace strata {
namespace {

/// A verdict with the rule behind it; the cause of a no.
struct CaptureVerdict {
  bool holds = false;
  std::string rule;
  std::string cause;
};

class CaptureFindings {
 public:
  CaptureFindings(const CaptureStudy& study, const RooflineStudy* own) : study_(study), own_(own) {}

  std::vector<Finding> make() {
    for (const std::string_view network : captured_networks) {
      broadcasts(network);
      winograd(network);
      pooling(network);
      launches(network);
      kernels_by_batch(network);
      memory_bound(network);
    }
    concurrency();
    copy_throughput();
    clean_up();
    without_verdict("kernels", "any", "different kernels on different GPUs", "they differ", "–",
                    fmt::format("one GPU was measured: {}",
                                study_.device.empty() ? "not named" : study_.device));
    most_flop();
    jax();
    for (Finding& one : framework_findings(study_, own_)) findings_.push_back(std::move(one));
    overheads();
    return std::move(findings_);
  }

 private:
  void claim(std::string_view about, std::string_view network, std::string what,
             std::string printed, std::string found, CaptureVerdict verdict) {
    std::string note = std::move(verdict.rule);
    if (!verdict.holds && !verdict.cause.empty()) note += "; " + verdict.cause;
    findings_.push_back({std::string(about), std::string(network), std::move(what),
                         std::move(printed), std::move(found), true, verdict.holds,
                         std::move(note)});
  }
  void without_verdict(std::string_view about, std::string_view network, std::string what,
                       std::string printed, std::string found, std::string reason) {
    claim(about, network, std::move(what), std::move(printed), std::move(found),
          {.holds = false, .rule = std::move(reason), .cause = {}});
    findings_.back().is_printed = false;
  }
  void missing(std::string_view about, std::string_view network, std::string what,
               std::string printed, std::string reason = "the results do not hold it") {
    without_verdict(about, network, std::move(what), std::move(printed), "not measured",
                    std::move(reason));
  }

  /// A share at every batch of the report; nothing when a batch is missing.
  template <class Share>
  std::optional<std::vector<double>> shares(std::string_view network, std::string_view part,
                                            const Share& share) const {
    std::vector<double> values;
    for (const std::int64_t batch : captured_batches) {
      const CaptureCase* const one = find_case(study_, "pytorch", network, batch, part);
      if (one == nullptr) return std::nullopt;
      values.push_back(share(*one));
    }
    return values;
  }

  /// "12 · 9 · 6 · 4 · 3 %"
  static std::string in_percent(const std::vector<double>& values) {
    std::string text;
    for (const double value : values)
      text += fmt::format("{}{:.3g}", text.empty() ? "" : " · ", 100 * value);
    return text + " %";
  }

  // The report trained on several GPUs, which broadcast weights to each other.
  void broadcasts(std::string_view network) {
    const std::string what = "broadcast, of GPU time, batch 4 … 64";
    const std::string printed = "about 45 % at 4, falls";
    const auto found = shares(network, "iteration", share_of_collectives);
    if (!found) return missing("broadcast", network, what, printed);
    if (*std::max_element(found->begin(), found->end()) > 0) {
      claim("broadcast", network, what, printed, in_percent(*found),
            {.holds = found->front() > found->back(),
             .rule = "holds where batch 4 has more than 64",
             .cause = "the share of collectives does not fall"});
      return;
    }
    const auto copies = shares(network, "iteration", share_of_copies);
    without_verdict("broadcast", network, what, printed, "0 · 0 · 0 · 0 · 0 %",
                    fmt::format("one GPU broadcasts nothing; its copies of images take {}",
                                in_percent(*copies)));
  }

  void winograd(std::string_view network) {
    const std::string what = "Winograd, of kernel time, batch 4 … 64";
    const std::string printed = "rises to 16, then falls (K80)";
    const auto found = shares(network, "iteration", share_of_winograd);
    if (!found) return missing("Winograd", network, what, printed);
    const CaptureCase* const middle = find_case(study_, "pytorch", network, 16, "iteration");
    claim("Winograd", network, what, printed, in_percent(*found),
          {.holds = (*found)[2] > found->front() && (*found)[2] > found->back(),
           .rule = "holds where 16 has more than 4 and 64",
           .cause = other_convolutions(*middle)});
  }

  /// "at batch 16 the library chose convolution implicit_gemm (33 % of kernel time)"
  static std::string other_convolutions(const CaptureCase& one) {
    std::string text;
    double most = 0;
    for (const auto& [name, seconds] : one.class_s) {
      if (!name.starts_with("convolution") || seconds <= most) continue;
      most = seconds;
      text = fmt::format("at batch {} most convolution time is {} ({:.3g} % of kernel time)",
                         one.batch, name, 100 * part_of_whole(seconds, one.kernel_s));
    }
    return text;
  }

  void pooling(std::string_view network) {
    const std::string what = "max-pool backward, of kernel time, batch 4 … 64";
    const auto found = shares(network, "iteration", share_of_pool_backward);
    if (!found) return missing("max-pool", network, what, "grows with the batch");
    claim("max-pool", network, what, "grows with the batch", in_percent(*found),
          {.holds = found->back() > found->front(),
           .rule = "holds where 64 has more than 4",
           .cause = found->back() > 0 ? fastest_growing(network)
                                      : "no kernel is known as max-pool backward by its name"});
  }

  /// The class whose share of kernel time grows most from the smallest batch to the largest.
  std::string fastest_growing(std::string_view network) const {
    const CaptureCase* const small =
        find_case(study_, "pytorch", network, captured_batches.front(), "iteration");
    const CaptureCase* const large =
        find_case(study_, "pytorch", network, captured_batches.back(), "iteration");
    double most = 0;
    std::string text;
    for (const auto& [name, seconds] : large->class_s) {
      const auto before = small->class_s.find(name);
      const double growth =
          part_of_whole(seconds, large->kernel_s) -
          (before == small->class_s.end() ? 0 : part_of_whole(before->second, small->kernel_s));
      if (growth <= most) continue;
      most = growth;
      text = fmt::format("{} grows most, by {:.3g} points", name, 100 * growth);
    }
    return text;
  }

  void launches(std::string_view network) {
    const std::string what = "launches, of API time in backward, batch 4 … 64";
    const std::string printed = "about 100 %, less at 64";
    const auto found = shares(network, "backward", share_of_launches);
    if (!found) return missing("launches", network, what, printed);
    const CaptureCase* const smallest =
        find_case(study_, "pytorch", network, captured_batches.front(), "backward");
    claim("launches", network, what, printed, in_percent(*found),
          {.holds = found->front() > 0.9 && found->back() < found->front(),
           .rule = "holds above 90 % at batch 4 and with less at 64",
           .cause = other_calls(*smallest)});
    findings_.back().drawn.push_back({.figure = "capture-shares",
                                      .panel = std::string(network),
                                      .x = static_cast<double>(captured_batches.front()),
                                      .y = 1,
                                      .label = "launches, of API time in backward, about 100 %"});
  }

  /// The calls beside launches that take longest, where the study has calls by name.
  static std::string other_calls(const CaptureCase& one) {
    std::vector<std::pair<std::string, double>> calls;
    for (const auto& [name, seconds] : one.call_s) {
      if (name.find("Launch") == std::string::npos) calls.emplace_back(name, seconds);
    }
    if (calls.empty()) {
      return fmt::format(
          "other calls take {} of {} at batch {}; these results do not name them "
          "(strata plot --kind api-donut of a capture does)",
          format_time(one.api_s - one.launch_api_s), format_time(one.api_s), one.batch);
    }
    std::stable_sort(calls.begin(), calls.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    calls.resize(std::min<std::size_t>(calls.size(), 3));
    std::string text;
    for (const auto& [name, seconds] : calls) {
      text += fmt::format("{}{} {:.3g} %", text.empty() ? "" : ", ", name,
                          100 * part_of_whole(seconds, one.api_s));
    }
    return fmt::format("at batch {} also {}", one.batch, text);
  }

  void kernels_by_batch(std::string_view network) {
    const std::string what = "different kernels at different batches, batch 4 … 64";
    std::set<std::set<std::string>> kinds;
    std::set<std::int64_t> counts;
    std::string found;
    for (const std::int64_t batch : captured_batches) {
      const CaptureCase* const one = find_case(study_, "pytorch", network, batch, "iteration");
      if (one == nullptr) return missing("kernels", network, what, "they differ");
      std::set<std::string> names;
      for (const auto& [name, seconds] : one->class_s) {
        if (seconds > 0 && name.starts_with("convolution")) names.insert(name);
      }
      kinds.insert(names);
      counts.insert(std::llround(one->launches));
      found += fmt::format("{}{:.0f}", found.empty() ? "" : " · ", one->launches);
    }
    claim("kernels", network, what, "they differ",
          fmt::format("{} launches, {} of convolutions", found,
                      kinds.size() > 1 ? "other algorithms" : "the same algorithms"),
          {.holds = kinds.size() > 1 || counts.size() > 1,
           .rule = "holds where the number of launches or the algorithms of convolutions differ",
           .cause = "the same at every batch"});
  }

  // The report concludes that training at a small batch is memory-bound.
  void memory_bound(std::string_view network) {
    const std::string what = "memory-bound at a small batch: FLOP/byte of a step, batch 4 … 64";
    const std::string printed = "memory-bound";
    std::vector<double> intensities;
    std::string found;
    for (const std::int64_t batch : captured_batches) {
      const IterationWork work = iteration_work(network, batch);
      intensities.push_back(work.flop / work.bytes);
      found += fmt::format("{}{:.3g}", found.empty() ? "" : " · ", intensities.back());
    }
    if (own_ == nullptr)
      return without_verdict("memory", network, what, printed, found,
                             "the roofs of the device are not known");
    const Roofs roofs = roofs_of(own_->machine);
    const double balance =
        peak_for(roofs, DType::tf32, /*is_matrix=*/true).flop_per_s / roofs.outer().bytes_per_s;
    claim("memory", network, what, printed, fmt::format("{}; balance {:.3g}", found, balance),
          {.holds = intensities.front() < balance && intensities.back() > intensities.front(),
           .rule = "holds where batch 4 is below the balance of tensor units (TF32) and DRAM, and "
                   "64 above batch 4; FLOP and bytes by the layers' definition",
           .cause = "its convolutions reuse each byte more often than the balance asks"});
  }

  // Printed for AlexNet at batch 64.
  void concurrency() {
    const CaptureCase* const one = find_case(study_, "pytorch", "alexnet", 64, "iteration");
    const std::string what = "kernels at the same time, batch 64";
    const std::string printed = "675.8 µs of 12.375 s (0.0055 %)";
    if (one == nullptr) return missing("concurrency", "alexnet", what, printed);
    const double share = part_of_whole(one->concurrent_s, one->busy_s);
    claim("concurrency", "alexnet", what, printed,
          fmt::format("{} of {} ({:.2g} %)", format_time(one->concurrent_s),
                      format_time(one->busy_s), 100 * share),
          {.holds = share < 0.01,
           .rule = "holds below 1 %",
           .cause = "the framework runs kernels on several streams"});
  }

  void copy_throughput() {
    const CaptureCase* const one = find_case(study_, "pytorch", "alexnet", 64, "iteration");
    const std::string what = "throughput of copies, of the link's bandwidth, batch 64";
    if (one == nullptr || !(one->copy_s > 0)) return missing("copies", "alexnet", what, "17.4 %");
    const double rate = one->copy_bytes / one->copy_s;
    std::optional<double> link;
    if (own_ != nullptr) {
      for (const Link& other : own_->machine.links) {
        if (other.kind == LinkKind::host_to_device &&
            other.host_memory.value_or(HostMemory::pinned) == HostMemory::pinned)
          link = std::max(link.value_or(0), other.bandwidth_bytes_per_s.value);
      }
    }
    if (!link)
      return without_verdict("copies", "alexnet", what, "17.4 %", format_bytes_per_s(rate),
                             "the bandwidth of the device's link is not known");
    claim("copies", "alexnet", what, "17.4 %",
          fmt::format("{:.0f} % ({} of {})", 100 * rate / *link, format_bytes_per_s(rate),
                      format_bytes_per_s(*link)),
          {.holds = rate < 0.5 * *link,
           .rule = "holds below half of it",
           .cause = fmt::format("a step copies its images, {}, at once",
                                format_bytes(one->copy_bytes))});
  }

  void clean_up() {
    const std::string what = "clean-up calls (event destroy), of API time in backward, batch 64";
    const CaptureCase* const one = find_case(study_, "pytorch", "vgg16", 64, "backward");
    if (one == nullptr || one->call_s.empty())
      return missing("clean-up", "vgg16", what, "shows (K80)",
                     "the results do not hold calls by name; --run records them");
    double seconds = 0;
    for (const auto& [name, value] : one->call_s) {
      if (name.find("EventDestroy") != std::string::npos) seconds += value;
    }
    const double share = part_of_whole(seconds, one->api_s);
    claim("clean-up", "vgg16", what, "shows (K80)", fmt::format("{:.3g} %", 100 * share),
          {.holds = share >= 0.01, .rule = "holds from 1 % on", .cause = other_calls(*one)});
  }

  /// FLOP of a training iteration, counted and not measured.
  void most_flop() {
    std::string found;
    std::size_t won = 0;
    for (const std::int64_t batch : captured_batches) {
      double most = 0;
      std::string_view winner;
      for (const std::string_view network : captured_networks) {
        const double flop = iteration_work(network, batch).flop;
        if (batch == captured_batches.back())
          found += fmt::format("{}{} {}", found.empty() ? "" : ", ", network, format_flop(flop));
        if (flop > most) {
          most = flop;
          winner = network;
        }
      }
      won += winner == "vgg16" ? 1 : 0;
    }
    claim("FLOP", "all", "FLOP of an iteration, batch 4 … 64", "VGG-16 has the most",
          fmt::format("at {} of {} batches; at 64 {}", won, captured_batches.size(), found),
          {.holds = won == captured_batches.size(),
           .rule = "holds where it has the most at every batch; counted from the layers",
           .cause = "another network has more"});
  }

  void jax() {
    for (const std::int64_t batch : captured_batches) {
      const CaptureCase* const theirs = find_case(study_, "jax", "alexnet", batch, "iteration");
      const CaptureCase* const ours = find_case(study_, "pytorch", "alexnet", batch, "iteration");
      if (theirs == nullptr || ours == nullptr) continue;
      without_verdict("JAX", "alexnet", fmt::format("a step at batch {}, PyTorch and JAX", batch),
                      "",
                      fmt::format("{} ({:.0f} kernels), {} ({:.0f})", format_time(ours->kernel_s),
                                  ours->launches, format_time(theirs->kernel_s), theirs->launches),
                      "kernel time");
    }
  }

  void overheads() {
    for (const CaptureOverhead& one : study_.overheads) {
      without_verdict("overhead", "resnet50",
                      fmt::format("wall time with {}, batch 128", one.profiler), "",
                      fmt::format("{:+.2f} %", 100 * overhead_of(one)),
                      fmt::format("median of {} turns{}", one.watched_ms.size(),
                                  one.profiler == "strata" ? "; at most 1.5 % is the aim" : ""));
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
