// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/roofline_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata {
namespace {

constexpr std::string_view lstm = "lstm";

/// The ends of the sequence sweep in fp16 forward.
struct SequenceEnds {
  const KernelPoint& first;
  const KernelPoint& last;

  double longer() const {
    return static_cast<double>(last.value) / static_cast<double>(first.value);
  }
};

std::optional<SequenceEnds> sequence_ends(const StudySide& side) {
  const auto track = side.track(lstm, "sequence", DType::fp16);
  if (track.size() != side.sweep(lstm, "sequence").sweep.values.size()) return std::nullopt;
  return SequenceEnds{*track.front(), *track.back()};
}

bool is_proportional(double found, double expected) {
  return std::fabs(found / expected - 1) <= roofline_limits::proportional;
}

MaybeAnswer launch_bound(const StudySide& side, std::string_view parameter) {
  const SweepResult& result = side.sweep(lstm, parameter);
  if (result.points.empty() || !side.roofs().launch_latency_s) return {};
  std::size_t inside = 0;
  const KernelPoint* outside = nullptr;
  for (const KernelPoint& point : result.points) {
    const bool is_inside = side.at(point).bound == Bound::launch;
    inside += is_inside ? 1 : 0;
    if (!is_inside) outside = &point;
  }
  ClaimAnswer answer{.found = fmt::format("{} of {} points", inside, result.points.size()),
                     .holds = outside == nullptr};
  if (outside != nullptr) {
    answer.why =
        fmt::format("{} {} at {} runs {} for {} launches", name_of(outside->dtype), outside->pass,
                    outside->value, format_time(outside->work.time_s), outside->work.launches);
  }
  return answer;
}

/// Launches beside those of each step of time, or steps that share one.
std::string why_fewer_launches(const SequenceEnds& ends) {
  const auto [first, last] = std::pair(ends.first.work.launches, ends.last.work.launches);
  if (last < ends.last.value) {
    return fmt::format("{} launches do {} steps, as kernels stay on the device", last,
                       ends.last.value);
  }
  const double per_step =
      static_cast<double>(last - first) / static_cast<double>(ends.last.value - ends.first.value);
  return fmt::format("{:.0f} of the {} launches at {} are there whatever the length",
                     static_cast<double>(first) - per_step * static_cast<double>(ends.first.value),
                     first, ends.first.value);
}

MaybeAnswer launches_grow(const StudySide& side) {
  const auto ends = sequence_ends(side);
  if (!ends || ends->first.work.launches == 0) return {};
  const double found = static_cast<double>(ends->last.work.launches) /
                       static_cast<double>(ends->first.work.launches);
  return {{growth_text(found), is_proportional(found, ends->longer()), why_fewer_launches(*ends)}};
}

/// Run time with its launches; of a measurement that of its kernels and the wall time beside.
MaybeAnswer run_time_grows(const StudySide& side) {
  const auto ends = sequence_ends(side);
  if (!ends) return {};
  const double first_s = side.run_time_s(ends->first);
  if (!(first_s > 0)) return {};
  const double found = side.run_time_s(ends->last) / first_s;
  ClaimAnswer answer{.found = growth_text(found), .holds = is_proportional(found, ends->longer())};
  const Work& a = ends->first.work;
  const Work& b = ends->last.work;
  if (side.is_measured() && a.time_s > 0 && a.wall_s.value_or(0) > 0 && b.wall_s) {
    answer.found += fmt::format(" (kernels {}, wall {})", growth_text(b.time_s / a.time_s),
                                growth_text(*b.wall_s / *a.wall_s));
  }
  const bool is_of_launches = first_s > a.time_s;
  answer.why = is_of_launches ? why_fewer_launches(*ends)
                              : fmt::format(
                                    "the kernels run longer than they take to start: {} "
                                    "for {} launches at {}",
                                    format_time(a.time_s), a.launches, ends->first.value);
  return answer;
}

MaybeAnswer intensity_stays(const StudySide& side) {
  const auto ends = sequence_ends(side);
  if (!ends) return {};
  const Work a = ends->first.drawn_work();
  const Work b = ends->last.drawn_work();
  if (a.flop == 0 || a.bytes == 0 || b.bytes == 0) return {};
  const double flop = static_cast<double>(b.flop) / static_cast<double>(a.flop);
  const double bytes = static_cast<double>(b.bytes) / static_cast<double>(a.bytes);
  ClaimAnswer answer{
      .found = growth_text(flop / bytes),
      .holds = std::fabs(flop / bytes - 1) <= roofline_limits::constant,
      .why = fmt::format("FLOP grow {}, bytes {}", growth_text(flop), growth_text(bytes))};
  const auto counted = ends->first.counted_bytes();
  const auto defined = static_cast<double>(ends->first.work.bytes);
  if (!counted) {
    answer.why += ", as weights are read once however long the sequence is";
  } else if (*counted < defined / 2) {
    answer.why += fmt::format(
        "; of the {} of the shortest one {} crossed to memory: caches hold "
        "the rest",
        format_bytes(defined), format_bytes(*counted));
  }
  return answer;
}

MaybeAnswer forward_launches(const StudySide& side) {
  const auto track = side.track(lstm, "batch", DType::fp16);
  if (track.empty()) return {};
  return {{format_exact(track.front()->work.launches)}};
}

RooflineClaim launch_bound_claim(std::string_view parameter) {
  return {.about = "overhead",
          .kernel = lstm,
          .what = fmt::format("launch-bound whatever the {}", parameter),
          .printed = "always",
          .sentence = fmt::format("Launch overhead bounds every point (LSTM over {}, figure {})",
                                  parameter, parameter == "batch" ? 9 : 10),
          .rule = "holds where the kernels of every point take no longer than launches × latency",
          .ask = [parameter](const StudySide& side) { return launch_bound(side, parameter); }};
}

constexpr std::string_view longer_sequence =
    "Run time and launches grow in proportion to the sequence, at constant arithmetic intensity "
    "(LSTM "
    "over sequence, figure 10)";
constexpr std::string_view constant_time = "The run time is constant (LSTM over batch, figure 9)";
constexpr std::string_view constant_launches =
    "The number of launches is constant in all three cases (LSTM over batch, features and hidden "
    "size)";

const CourseClaim lstm_courses[] = {
    {"batch", lstm, "batch", "run time does not depend on the batch (16 → 128, fp16 forward)",
     constant_time, &followed_run_time},
    {"batch", lstm, "batch", "launches do not depend on the batch", constant_launches,
     &followed_launches},
    {"features", lstm, "features", "launches do not depend on the number of features",
     constant_launches, &followed_launches},
    {"hidden", lstm, "hidden", "launches do not depend on the hidden size", constant_launches,
     &followed_launches}};

std::vector<RooflineClaim> overhead_claims() {
  return {
      launch_bound_claim("batch"),
      launch_bound_claim("sequence"),
      {.about = "overhead",
       .kernel = lstm,
       .what = "launches of a forward pass (the paper: 36 in PyTorch, 243 to 277 in others)",
       .printed = "",
       .sentence = "",
       .rule = "predicted one per step: a product and nine point-wise operations per time step; "
               "with those fused it would be 32 of PyTorch's 16 + 16 + 2 + 2",
       .ask = forward_launches},
      {.about = "overhead",
       .kernel = lstm,
       .what = "launches without FLOP, zero AI (forward)",
       .printed = "2 of PyTorch's 36",
       .sentence = "Of PyTorch's 36 launches 2 do no FLOP (LSTM, launch overhead)",
       .rule = "holds where the device counted such a launch, of Strata's own kernels",
       .ask = [](const StudySide& side) { return zero_flop_launches(side, lstm); }}};
}

std::vector<RooflineClaim> sequence_claims() {
  const std::string sentence(longer_sequence);
  return {{"sequence", lstm, "run time grows as the sequence, 16 → 128 (fp16 forward)", "8.00×",
           sentence, "holds within 10 %; launches × latency where the kernels take less",
           run_time_grows},
          {"sequence", lstm, "and so do the launches, which bound it", "8.00×", sentence,
           "holds within 10 %", launches_grow},
          {"sequence", lstm, "at constant FLOP per byte", "1.00×", sentence, "holds within 10 %",
           intensity_stays}};
}

}  // namespace

std::vector<RooflineClaim> lstm_claims() {
  std::vector<RooflineClaim> claims = overhead_claims();
  for (RooflineClaim& claim : sequence_claims()) claims.push_back(std::move(claim));
  for (const CourseClaim& course : lstm_courses) claims.push_back(claim_of(course));
  return claims;
}

}  // namespace strata
