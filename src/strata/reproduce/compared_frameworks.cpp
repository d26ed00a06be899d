// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/compared_frameworks.hpp"

#include "strata/base/units.hpp"
#include "strata/roofline/counted_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

namespace strata {
namespace {

constexpr std::int64_t told_batch = 16;

/// Our own engine at one batch; "forward and backward" is their sum.
std::optional<Work> own_work(const RooflineStudy* own, std::string_view kernel,
                             std::string_view part, DType dtype, std::int64_t batch,
                             bool as_counted) {
  if (own == nullptr) return std::nullopt;
  if (part == compared_parts[2]) {
    std::optional<Work> forward =
        own_work(own, kernel, compared_parts[0], dtype, batch, as_counted);
    const std::optional<Work> backward =
        own_work(own, kernel, compared_parts[1], dtype, batch, as_counted);
    if (!forward || !backward) return std::nullopt;
    return *forward += *backward;
  }
  for (const KernelPoint* point : own->sweep(kernel, "batch").track(dtype, part)) {
    if (point->value == batch) return as_counted ? point->drawn_work() : point->work;
  }
  return std::nullopt;
}

const CaptureCase* recorded_case(const CaptureStudy& study, const FrameworkTrack& track,
                                 std::int64_t batch) {
  for (const CaptureCase& one : study.cases) {
    if (one.framework == track.framework && one.network == track.kernel && one.part == track.part &&
        one.dtype == name_of(track.dtype) && one.batch == batch)
      return &one;
  }
  return nullptr;
}

/// What a framework did; FLOP and bytes as they were counted, else those of the definition, which
/// our own engine's points have.
Work recorded_work(const CaptureCase& one, DType dtype, const std::optional<Work>& defined) {
  Work work;
  work.launches = std::llround(one.launches);
  work.time_s = one.kernel_s;
  work.wall_s = one.wall_s;
  if (defined) {
    work.flop = defined->flop;
    work.bytes = defined->bytes;
  }
  const auto counter = [&](std::string_view key) {
    const auto found = one.counted.find(std::string(key));
    return found == one.counted.end() ? std::nullopt : std::optional(found->second);
  };
  return counted_work(work, dtype, counter).value_or(work);
}

/// Every batch of which there is something, rising.
std::vector<std::int64_t> batches_of(const CaptureStudy& study, std::string_view kernel) {
  std::vector<std::int64_t> batches;
  for (const CaptureCase& one : study.cases) {
    if (one.network == kernel && !one.dtype.empty()) batches.push_back(one.batch);
  }
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  return batches;
}

FrameworkTrack track_of_framework(const CaptureStudy& study, const RooflineStudy* own,
                                  FrameworkTrack track) {
  const bool is_own = track.framework == "strata";
  for (const std::int64_t batch : batches_of(study, track.kernel)) {
    const std::optional<Work> ours =
        own_work(own, track.kernel, track.part, track.dtype, batch, /*as_counted=*/is_own);
    const CaptureCase* recorded = is_own ? nullptr : recorded_case(study, track, batch);
    if (is_own ? !ours : recorded == nullptr) continue;
    Work work = is_own ? *ours : recorded_work(*recorded, track.dtype, ours);
    track.batches.push_back(batch);
    track.works.push_back(std::move(work));
  }
  return track;
}

/// Our own engine is worth a line where another framework stands beside it.
bool is_compared(const std::vector<FrameworkTrack>& tracks) {
  return std::any_of(tracks.begin(), tracks.end(),
                     [](const FrameworkTrack& track) { return track.framework != "strata"; });
}

/// "pytorch 4, 11.5 µs · jax 66, 90.5 µs · strata 34, 80.0 µs" at the batch that is told.
std::string told_of(const std::vector<const FrameworkTrack*>& tracks) {
  std::string text;
  for (const FrameworkTrack* track : tracks) {
    for (std::size_t i = 0; i < track->batches.size(); ++i) {
      if (track->batches[i] != told_batch) continue;
      text += fmt::format("{}{} {}, {}", text.empty() ? "" : " · ", track->framework,
                          track->works[i].launches, format_time(track->works[i].time_s));
    }
  }
  return text;
}

/// "FLOP and bytes as counted of strata, by definition of pytorch, jax".
std::string complexity_text(const std::vector<FrameworkTrack>& tracks) {
  std::string counted, defined;
  for (const std::string_view framework : compared_frameworks) {
    const auto is_its = [&](const FrameworkTrack& track) { return track.framework == framework; };
    const auto its = std::find_if(tracks.begin(), tracks.end(), is_its);
    if (its == tracks.end()) continue;
    const bool is_counted = std::all_of(tracks.begin(), tracks.end(), [&](const auto& track) {
      return !is_its(track) || std::all_of(track.works.begin(), track.works.end(),
                                           [](const Work& work) { return work.counts_bytes; });
    });
    std::string& names = is_counted ? counted : defined;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", framework);
  }
  if (counted.empty()) return "FLOP and bytes by definition: no counters were read";
  return fmt::format("FLOP and bytes as counted of {}{}", counted,
                     defined.empty() ? ""
                                     : fmt::format(", by definition of {}, of which not every "
                                                   "kernel was counted",
                                                   defined));
}

/// The paper: LSTM is bound by overhead whatever the batch, in every framework.
Finding overhead_of_lstm(const std::vector<FrameworkTrack>& tracks, const RooflineStudy& own) {
  const Roofs roofs = roofs_of_study(own);
  std::size_t bound = 0, all = 0;
  std::string others;
  for (const FrameworkTrack& track : tracks) {
    if (track.kernel != "lstm") continue;
    for (std::size_t i = 0; i < track.works.size(); ++i) {
      ++all;
      const Bound limit = place(track.works[i], roofs).bound;
      bound += limit == Bound::launch ? 1 : 0;
      if (limit == Bound::launch) continue;
      others +=
          fmt::format("; {} {} {} at batch {} runs {} for {} launches and is bound by {}",
                      track.framework, name_of(track.dtype), track.part, track.batches[i],
                      format_time(track.works[i].time_s), track.works[i].launches, name_of(limit));
    }
  }
  return {.observation = "frameworks",
          .network = "lstm",
          .what = "bound by starting its kernels, whatever batch and framework",
          .printed = "overhead-bound",
          .found = all == 0 ? "not measured" : fmt::format("{} of {} points", bound, all),
          .is_printed = all > 0,
          .holds = bound == all,
          .note = fmt::format("holds where every point is, under the roofs of the device; {}{}",
                              complexity_text(tracks), others)};
}

/// Launches of a forward pass at the batch that is told; nothing where that was not captured.
std::optional<std::int64_t> told_launches(const std::vector<FrameworkTrack>& tracks,
                                          std::string_view framework, DType dtype) {
  for (const FrameworkTrack& track : tracks) {
    if (track.framework != framework || track.kernel != "lstm" || track.dtype != dtype ||
        track.part != compared_parts[0])
      continue;
    for (std::size_t i = 0; i < track.batches.size(); ++i) {
      if (track.batches[i] == told_batch) return track.works[i].launches;
    }
  }
  return std::nullopt;
}

/// The paper: PyTorch starts far fewer kernels for an LSTM than others do.
Finding fewest_launches(const std::vector<FrameworkTrack>& tracks) {
  Finding finding{
      .observation = "frameworks",
      .network = "lstm",
      .what = fmt::format("PyTorch launches the fewest kernels, forward, batch {}", told_batch),
      .printed = "36 of 36, 243, 277",
      .found = {},
      .is_printed = false,
      .holds = true,
      .note = "holds where every other framework launches more, in fp32 and fp16"};
  for (const DType dtype : compared_types) {
    const auto of_pytorch = told_launches(tracks, "pytorch", dtype);
    if (!of_pytorch) continue;
    std::string others;
    for (const std::string_view framework : compared_frameworks) {
      const auto launches = told_launches(tracks, framework, dtype);
      if (framework == "pytorch" || !launches) continue;
      others += fmt::format(", {} {}", framework, *launches);
      if (*launches > *of_pytorch) continue;
      finding.holds = false;
      finding.note += fmt::format("; {} launches {} in {}, PyTorch {}", framework, *launches,
                                  name_of(dtype), *of_pytorch);
    }
    if (others.empty()) continue;
    finding.is_printed = true;
    finding.found += fmt::format("{}{}: pytorch {}{}", finding.found.empty() ? "" : " · ",
                                 name_of(dtype), *of_pytorch, others);
  }
  if (!finding.is_printed) {
    finding.found = "not measured";
    finding.note += "; no capture of PyTorch and another framework is at hand";
  }
  return finding;
}

}  // namespace

std::vector<FrameworkTrack> framework_tracks(const CaptureStudy& study, const RooflineStudy* own) {
  std::vector<FrameworkTrack> all;
  for (const std::string_view kernel : compared_kernels) {
    for (const DType dtype : compared_types) {
      for (const std::string_view part : compared_parts) {
        std::vector<FrameworkTrack> same;
        for (const std::string_view framework : compared_frameworks) {
          FrameworkTrack track = track_of_framework(
              study, own, {std::string(framework), kernel, std::string(part), dtype, {}, {}});
          if (!track.works.empty()) same.push_back(std::move(track));
        }
        if (is_compared(same)) std::move(same.begin(), same.end(), std::back_inserter(all));
      }
    }
  }
  return all;
}

std::vector<Finding> framework_findings(const CaptureStudy& study, const RooflineStudy* own) {
  const std::vector<FrameworkTrack> tracks = framework_tracks(study, own);
  std::vector<Finding> findings;
  for (auto begin = tracks.begin(); begin != tracks.end();) {
    const auto end = std::find_if(begin, tracks.end(), [&](const FrameworkTrack& track) {
      return track.kernel != begin->kernel || track.dtype != begin->dtype ||
             track.part != begin->part;
    });
    std::vector<const FrameworkTrack*> same;
    for (auto track = begin; track != end; ++track) same.push_back(&*track);
    const bool has_counts = begin->kernel == "lstm" && begin->part == "forward";
    findings.push_back(
        {.observation = "frameworks",
         .network = fmt::format("{} {}", begin->kernel, name_of(begin->dtype)),
         .what = fmt::format("launches and kernel time, {}, batch {}", begin->part, told_batch),
         .printed = "",
         .found = told_of(same),
         .is_printed = false,
         .note = has_counts ? "the time-based roofline counted 36 in PyTorch, and 243 and 277 in "
                              "two others of 2020"
                            : ""});
    begin = end;
  }
  return findings;
}

std::vector<Finding> framework_claims(const CaptureStudy& study, const RooflineStudy& own) {
  const std::vector<FrameworkTrack> tracks = framework_tracks(study, &own);
  return {fewest_launches(tracks), overhead_of_lstm(tracks, own)};
}

}  // namespace strata
