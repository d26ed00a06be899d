// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/capture_claims.hpp"
#include "strata/reproduce/claim_counts.hpp"
#include "strata/reproduce/compared_frameworks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace strata {
namespace {

constexpr std::string_view not_in_results = "the results do not hold it";

/// "at batch 16 the library chose convolution implicit_gemm (33 % of kernel time)"
std::string other_convolutions(const CaptureCase& one) {
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

/// The class whose share of kernel time grows most from the smallest batch to the largest.
std::string fastest_growing(const CaptureCase& small, const CaptureCase& large) {
  double most = 0;
  std::string text;
  for (const auto& [name, seconds] : large.class_s) {
    const auto before = small.class_s.find(name);
    const double growth =
        part_of_whole(seconds, large.kernel_s) -
        (before == small.class_s.end() ? 0 : part_of_whole(before->second, small.kernel_s));
    if (growth <= most) continue;
    most = growth;
    text = fmt::format("{} grows most, by {:.3g} points", name, 100 * growth);
  }
  return text;
}

std::string cause_of(const FollowedClaim& followed, const CaptureStudy& study,
                     std::string_view network, std::span<const double> shares) {
  const auto at = [&](std::int64_t batch) -> const CaptureCase& {
    return *find_case(study, "pytorch", network, batch, followed.part);
  };
  if (followed.share == share_of_winograd) return other_convolutions(at(16));
  if (followed.share == share_of_launches) return other_calls(at(captured_batches.front()));
  if (followed.share != share_of_pool_backward) return "";
  return shares.back() > 0
             ? fastest_growing(at(captured_batches.front()), at(captured_batches.back()))
             : "no kernel is known as max-pool backward by its name";
}

/// Time in calls that ask about the device or its memory and change nothing.
double time_of_queries(const CaptureCase& one) {
  double seconds = 0;
  for (const auto& [name, value] : one.call_s) {
    if (name.find("Get") != std::string::npos || name.find("TotalMem") != std::string::npos)
      seconds += value;
  }
  return seconds;
}

void add_clean_up(const CaptureStudy& study, CaptureRows& rows) {
  const CaptureClaim& claim = capture_claim("clean-up");
  const CaptureCase* const one = find_case(study, "pytorch", "vgg16", 64, "backward");
  if (one == nullptr || one->call_s.empty()) {
    return rows.add_without_verdict(claim, "vgg16", "not measured",
                                    "the results do not hold calls by name; --run records them");
  }
  double seconds = 0;
  for (const auto& [name, value] : one->call_s) {
    if (name.find("EventDestroy") != std::string::npos) seconds += value;
  }
  const double share = part_of_whole(seconds, one->api_s);
  rows.add(claim, "vgg16", fmt::format("{:.3g} %", 100 * share),
           {.holds = share >= 0.01, .rule = "holds from 1 % on", .cause = other_calls(*one)});
}

void add_steady_queries(const CaptureStudy& study, CaptureRows& rows) {
  const CaptureClaim& claim = capture_claim("steady-queries");
  for (const std::string_view network : captured_networks) {
    const auto times = shares_over_batches(study, network, "iteration", time_of_queries);
    if (!times || *std::min_element(times->begin(), times->end()) <= 0) {
      rows.add_without_verdict(claim, network, "not measured",
                               "the results do not hold calls by name; --run records them");
      continue;
    }
    const auto [least, most] = std::minmax_element(times->begin(), times->end());
    std::string each;
    for (const double seconds : *times)
      each += fmt::format("{}{}", each.empty() ? "" : " · ", format_time(seconds));
    rows.add(claim, network, fmt::format("{:.2f}× ({})", *most / *least, each),
             {.holds = *most < 1.5 * *least,
              .rule = "holds below 1.5×",
              .cause = "their number follows the kernels that are chosen"});
  }
}

void add_kernels_by_batch(const CaptureStudy& study, std::string_view network, CaptureRows& rows) {
  const CaptureClaim& claim = capture_claim("batches");
  std::set<std::set<std::string>> kinds;
  std::vector<double> counts;
  std::string found;
  for (const std::int64_t batch : captured_batches) {
    const CaptureCase* const one = find_case(study, "pytorch", network, batch, "iteration");
    if (one == nullptr)
      return rows.add_without_verdict(claim, network, "not measured", std::string(not_in_results));
    std::set<std::string> names;
    for (const auto& [name, seconds] : one->class_s) {
      if (seconds > 0 && name.starts_with("convolution")) names.insert(name);
    }
    kinds.insert(names);
    counts.push_back(one->launches);
    found += fmt::format("{}{:.0f}", found.empty() ? "" : " · ", one->launches);
  }
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  rows.add(
      claim, network,
      fmt::format("{} launches, {} of convolutions", found,
                  kinds.size() > 1 ? "other algorithms" : "the same algorithms"),
      {.holds = kinds.size() > 1 || *most > 1.05 * *least,
       .rule = "holds where the algorithms of convolutions differ, or launches by more than 5 %",
       .cause = "the same at every batch but for 5 %"});
}

/// FLOP of a training iteration, counted and not measured.
void add_most_flop(CaptureRows& rows) {
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
  rows.add(capture_claim("flop"), "all",
           fmt::format("at {} of {} batches; at 64 {}", won, captured_batches.size(), found),
           {.holds = won == captured_batches.size(),
            .rule = "holds where it has the most at every batch; counted from the layers",
            .remark = "the report has fp64 operations of a launch (flop_count_dp), which fp32 "
                      "training hardly has"});
}

void add_own_rows(const CaptureStudy& study, const RooflineStudy* own, CaptureRows& rows) {
  for (const std::int64_t batch : captured_batches) {
    const CaptureCase* const theirs = find_case(study, "jax", "alexnet", batch, "iteration");
    const CaptureCase* const ours = find_case(study, "pytorch", "alexnet", batch, "iteration");
    if (theirs == nullptr || ours == nullptr) continue;
    rows.add_own("JAX", "alexnet", fmt::format("a step at batch {}, PyTorch and JAX", batch),
                 fmt::format("{} ({:.0f} kernels), {} ({:.0f})", format_time(ours->kernel_s),
                             ours->launches, format_time(theirs->kernel_s), theirs->launches),
                 "kernel time");
  }
  for (Finding& one : framework_findings(study, own)) rows.all().push_back(std::move(one));
  for (const CaptureOverhead& one : study.overheads) {
    rows.add_own("overhead", "resnet50", fmt::format("wall time with {}, batch 128", one.profiler),
                 fmt::format("{:+.2f} %", 100 * overhead_of(one)),
                 fmt::format("median of {} runs{}", one.watched_ms.size(),
                             one.profiler == "strata" ? "; at most 1.5 % is the aim" : ""));
  }
}

}  // namespace

void add_followed_shares(const CaptureStudy& study, CaptureRows& rows) {
  for (const FollowedClaim& followed : followed_claims()) {
    const CaptureClaim& claim = capture_claim(followed.id);
    for (const std::string_view network : captured_networks) {
      const auto& only = followed.networks;
      if (!only.front().empty() && std::find(only.begin(), only.end(), network) == only.end())
        continue;
      const auto found = shares_over_batches(study, network, followed.part, followed.share);
      if (!found) {
        rows.add_without_verdict(claim, network, "not measured", std::string(not_in_results));
        continue;
      }
      const bool has_any = *std::max_element(found->begin(), found->end()) > 0;
      if (!has_any && followed.share == share_of_collectives) {
        rows.add_without_verdict(claim, network, in_percent(*found),
                                 "one GPU broadcasts nothing; the report ran on four");
        continue;
      }
      rows.add(claim, network, in_percent(*found),
               {.holds = has_any && followed.is_so(*found),
                .rule = std::string(followed.rule),
                .cause = cause_of(followed, study, network, *found)});
      if (followed.share == share_of_launches) {
        rows.last().drawn.push_back({.figure = "capture-launches",
                                     .panel = std::string(network),
                                     .x = 0,
                                     .y = 1,
                                     .label = "launches, about 100 %"});
      }
    }
  }
  for (const std::string_view network : captured_networks) {
    for (Finding& row : rows.all()) {
      if (row.observation != "broadcast" || row.network != network) continue;
      row.drawn.push_back({.figure = "capture-broadcasts",
                           .panel = std::string(network),
                           .x = 0,
                           .y = 0.45,
                           .label = "broadcast, about 45 %"});
    }
  }
}

void add_small_batches(const CaptureStudy& study, const RooflineStudy* own, CaptureRows& rows) {
  const CaptureClaim& claim = capture_claim("memory");
  for (const std::string_view network : captured_networks) {
    const CaptureCase* const small = find_case(study, "pytorch", network, 4, "iteration");
    const CaptureCase* const large = find_case(study, "pytorch", network, 64, "iteration");
    if (small == nullptr || large == nullptr) {
      rows.add_without_verdict(claim, network, "not measured", std::string(not_in_results));
      continue;
    }
    const double copies = share_of_copies(*small), later = share_of_copies(*large);
    const double idle = share_of_idle(*small);
    const auto dram = own == nullptr ? std::nullopt : share_of_dram(*small, roofs_of(own->machine));
    rows.add(
        claim, network,
        fmt::format("{:.3g} → {:.3g} %; {:.0f} → {:.0f} %", 100 * copies, 100 * later, 100 * idle,
                    100 * share_of_idle(*large)),
        {.holds = idle < 0.5 && (copies > later || dram.value_or(0) > 0.6),
         .rule = "holds where at 4 kernels run most of the time, and copies have a larger share "
                 "than at 64 or DRAM, as counted, is above 60 % of its bandwidth",
         .remark = dram ? fmt::format("DRAM at {:.0f} % while kernels run", 100 * *dram)
                        : "DRAM was not counted in these steps",
         .cause = idle >= 0.5
                      ? fmt::format("at 4 the device waits for the host in {:.0f} % of the step",
                                    100 * idle)
                      : "at 4 the device computes, and copies have no larger share than at 64"});
  }
}

void add_calls(const CaptureStudy& study, CaptureRows& rows) {
  add_clean_up(study, rows);
  rows.add_without_verdict(
      capture_claim("queries"), "resnet18", "–",
      "these captures hold training steps only, not the start of the program: strata capture of a "
      "whole run, then strata plot --kind api-donut");
  add_steady_queries(study, rows);
}

void add_kernels(const CaptureStudy& study, CaptureRows& rows) {
  for (const std::string_view network : captured_networks)
    add_kernels_by_batch(study, network, rows);
  // What the report's public logs of nvprof --metrics name (github.com/pranshu777/imagenet).
  rows.add(capture_claim("gpus"), "alexnet, resnet18",
           "K80: cudnn_convolve_sgemm_sm35_ldg_nn_64x16x64x16x16; P40: explicit_convolve_sgemm",
           {.holds = true,
            .rule = "holds where a GPU runs convolution kernels that the other does not",
            .remark = "both run implicit_convolve_sgemm, too; from the report's logs, not from the "
                      "device above"});
  // Printed for AlexNet at batch 64.
  const CaptureClaim& claim = capture_claim("concurrency");
  const CaptureCase* const one = find_case(study, "pytorch", "alexnet", 64, "iteration");
  if (one == nullptr) {
    rows.add_without_verdict(claim, "alexnet", "not measured", std::string(not_in_results));
  } else {
    const double share = part_of_whole(one->concurrent_s, one->busy_s);
    rows.add(claim, "alexnet",
             fmt::format("{:.2g} % ({} of {})", 100 * share, format_time(one->concurrent_s),
                         format_time(one->busy_s)),
             {.holds = share < 0.01,
              .rule = "holds below 1 %",
              .cause = "the framework runs kernels on several streams"});
  }
  add_most_flop(rows);
}

void add_copies(const CaptureStudy& study, const RooflineStudy* own, CaptureRows& rows) {
  const CaptureClaim& claim = capture_claim("slow-copies");
  const std::string single =
      "single copies are not in these results; strata capture of the step, "
      "then strata trace --by copy";
  const CaptureCase* const one = find_case(study, "pytorch", "alexnet", 64, "iteration");
  const double rate = one == nullptr || !(one->copy_s > 0) ? 0 : one->copy_bytes / one->copy_s;
  const std::optional<double> link = own == nullptr ? std::nullopt : link_of(own->machine);
  if (!(rate > 0)) {
    rows.add_without_verdict(claim, "alexnet", "not measured", std::string(not_in_results));
  } else if (!link) {
    rows.add_without_verdict(claim, "alexnet", format_bytes_per_s(rate),
                             "the bandwidth of the device's link is not known");
  } else {
    // Were a share s of the time below half of the link's rate, the mean would be below 1 − s / 2.
    const double most = std::clamp(2 * (1 - rate / *link), 0.0, 1.0);
    const std::string found = fmt::format("at most {:.0f} % ({} of {} on average)", 100 * most,
                                          format_bytes_per_s(rate), format_bytes_per_s(*link));
    constexpr double printed = 0.174, tolerance = 0.10;
    if (most < printed - tolerance) {
      rows.add(claim, "alexnet", found,
               {.holds = false,
                .rule = "holds within 10 points",
                .cause = fmt::format("a step copies its images, {}, at once",
                                     format_bytes(one->copy_bytes))});
    } else {
      rows.add_without_verdict(claim, "alexnet", found, single);
    }
  }
  for (const char* id : {"small-copies", "overlap"})
    rows.add_without_verdict(capture_claim(id), "alexnet", "–", single);
}

std::vector<Finding> reproduce_capture(const CaptureStudy& study, const RooflineStudy* own) {
  CaptureRows rows;
  add_followed_shares(study, rows);
  add_small_batches(study, own, rows);
  add_kernels(study, rows);
  add_copies(study, own, rows);
  add_calls(study, rows);
  add_own_rows(study, own, rows);
  std::vector<Finding> findings = std::move(rows.all());
  group_by_sentence(findings);
  return findings;
}

std::string capture_notes() {
  return "the report's public logs (github.com/pranshu777/imagenet, 27 files of nvprof): four K80s "
         "or four P40s, so that a batch of 4 to 64 is 1 to 16 images per GPU\n"
         "its FLOP are fp64 operations of a launch (flop_count_dp, 3.1 to 43 million on average on "
         "the K80, 0 on the P40); one summary has cuDeviceGetAttribute 34.6 %, "
         "cudaGetDeviceProperties 32.9 % and cuDeviceTotalMem 29.4 % of the time in calls "
         "(ResNet-18, batch 64, whole program)\n"
         "strata trace reads such logs: summaries and --metrics, as text and CSV\n";
}

}  // namespace strata
