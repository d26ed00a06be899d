// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/compared_frameworks.hpp"
#include "strata/reproduce/roofline_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata {
namespace {

constexpr double idle_share = 0.1;  // of the FLOP that tensor units do, below which they are idle
constexpr std::int64_t small_batch = 16;

/// What a framework did at a batch; nothing where it was not captured.
const Work* work_at(const FrameworkTrack& track, std::int64_t batch) {
  const auto found = std::find(track.batches.begin(), track.batches.end(), batch);
  return found == track.batches.end()
             ? nullptr
             : &track.works[static_cast<std::size_t>(found - track.batches.begin())];
}

bool is_same_case(const FrameworkTrack& a, const FrameworkTrack& b) {
  return a.kernel == b.kernel && a.part == b.part && a.dtype == b.dtype;
}

/// The paper's conclusion: PyTorch outperforms the others in run time.
Finding fastest_framework(const CaptureStudy& study, const RooflineStudy& own) {
  const std::vector<FrameworkTrack> tracks = framework_tracks(study, &own);
  std::size_t faster = 0, all = 0;
  std::string others;
  for (const FrameworkTrack& pytorch : tracks) {
    if (pytorch.framework != "pytorch") continue;
    for (const FrameworkTrack& other : tracks) {
      if (other.framework == "pytorch" || !is_same_case(pytorch, other)) continue;
      for (std::size_t i = 0; i < pytorch.batches.size(); ++i) {
        const Work* work = work_at(other, pytorch.batches[i]);
        if (work == nullptr) continue;
        ++all;
        const double pytorch_s = pytorch.works[i].time_s;
        if (pytorch_s < work->time_s) {
          ++faster;
        } else if (pytorch.batches[i] == small_batch) {
          others += fmt::format("; {} {} {} at batch {}: {} {}, PyTorch {}", pytorch.kernel,
                                name_of(pytorch.dtype), pytorch.part, small_batch, other.framework,
                                format_time(work->time_s), format_time(pytorch_s));
        }
      }
    }
  }
  return {.observation = "conclusion",
          .network = "both",
          .what = "PyTorch's kernels take less time than another framework's",
          .printed = "outperforms",
          .found = all == 0 ? "not measured" : fmt::format("{} of {} comparisons", faster, all),
          .is_printed = all > 0,
          .holds = faster == all,
          .note =
              "holds where they do at every kernel, data type, pass and batch of which both were "
              "captured" +
              others,
          .sentence = "PyTorch outperforms the other framework in run time (conclusion)"};
}

/// FLOP on the tensor units over all that were counted; nothing where they were not.
std::optional<double> tensor_share(const CaptureCase& one) {
  double tensor = 0, all = 0;
  for (const auto& [column, value] : one.counted) {
    if (!column.ends_with("_flop")) continue;
    all += value;
    if (column.starts_with("wgmma_") || column.starts_with("tensor_")) tensor += value;
  }
  return all > 0 ? std::optional(tensor / all) : std::nullopt;
}

/// The paper: one framework leaves the tensor units idle at a small batch.
Finding idle_tensor_units(const CaptureStudy& study) {
  Finding finding{.observation = "counters",
                  .network = "conv2d",
                  .what = fmt::format("tensor units unused at batch {}, fp16 forward", small_batch),
                  .printed = "one framework",
                  .found = "",
                  .is_printed = false,
                  .holds = false,
                  .note = "holds where they do less than 10 % of a framework's FLOP",
                  .sentence =
                      "One framework does not use the tensor units at a small batch (Conv2D over "
                      "batch)"};
  for (const CaptureCase& one : study.cases) {
    if (one.network != "conv2d" || one.part != "forward" || one.dtype != "fp16" ||
        one.batch != small_batch)
      continue;
    const std::optional<double> share = tensor_share(one);
    if (!share) continue;
    finding.is_printed = true;
    finding.holds = finding.holds || *share < idle_share;
    finding.found += fmt::format("{}{} {:.0f} %", finding.found.empty() ? "" : " · ", one.framework,
                                 100 * *share);
  }
  if (!finding.is_printed) {
    finding.found = "not measured";
  } else if (!finding.holds) {
    finding.note += "; every framework's convolutions run on them";
  }
  return finding;
}

}  // namespace

std::vector<Finding> frameworks_of_the_paper(const CaptureStudy& study, const RooflineStudy& own) {
  std::vector<Finding> findings = framework_claims(study, own);
  for (Finding& finding : findings) {
    finding.sentence =
        finding.what.starts_with("PyTorch launches")
            ? "PyTorch needs 36 launches, the other framework's implementations 243 to 277 (LSTM, "
              "launch overhead)"
            : "Launch overhead bounds it whatever batch and framework (LSTM over batch, figure 9)";
  }
  findings.push_back(fastest_framework(study, own));
  findings.push_back(idle_tensor_units(study));
  return findings;
}

}  // namespace strata
