// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/roofline_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace strata {
namespace {

namespace limits = roofline_limits;

constexpr std::string_view conv2d = "conv2d";
constexpr std::string_view ceilings_rule =
    "the balance of tensor peak and bandwidth (of its mix of reads and writes)";

/// Bytes as the device counted them, where it did, and whether it did.
std::pair<double, bool> bytes_of_point(const KernelPoint& point) {
  if (const auto counted = point.counted_bytes()) return {*counted, true};
  return {static_cast<double>(point.work.bytes), false};
}

MaybeAnswer growth_of_bytes(const StudySide& side) {
  const auto half = side.track(conv2d, "batch", DType::fp16);
  const auto single = side.track(conv2d, "batch", DType::fp32);
  if (half.empty() || half.size() != single.size()) return {};
  std::size_t converting = 0;
  for (std::size_t i = 0; i < half.size(); ++i) {
    const auto [bytes, is_counted] = bytes_of_point(*half[i]);
    if (!(bytes > 0) || (side.is_measured() && !is_counted)) return {};
    converting += bytes_of_point(*single[i]).first / bytes < limits::least_growth ? 1 : 0;
  }
  const double growth = bytes_of_point(*single.front()).first / bytes_of_point(*half.front()).first;
  if (!side.is_measured()) return {{fmt::format("{} predicted", growth_text(growth))}};
  const bool converts = converting == half.size();
  return {{fmt::format("{} counted{}", growth_text(growth), converts ? ": it converts" : ""),
           converts,
           fmt::format("they grow at {} of {} batches: nothing is converted there",
                       half.size() - converting, half.size())}};
}

/// " (216 MB counted, 75.8 MB must move)".
std::string moved_text(const KernelPoint& point) {
  const auto counted = point.counted_bytes();
  if (!counted) return "";
  return fmt::format(" ({} counted, {} must move)", format_bytes(*counted),
                     format_bytes(static_cast<double>(point.work.bytes)));
}

/// Below the balance of tensor peak and bandwidth at the fewest filters, above it at the most.
MaybeAnswer become_compute_bound(const StudySide& side) {
  const std::vector<Trajectory> all = side.trajectories(conv2d, "filters", {});
  if (all.empty()) return {};
  const RooflinePoint shown = side.at(*all.front().points.back());
  return over_trajectories(
      all, fmt::format("{:.0f} of {:.0f} FLOP/byte", shown.intensity.value_or(0), shown.balance),
      [&](const Trajectory& trajectory) -> std::string {
        const KernelPoint& most = *trajectory.points.back();
        const RooflinePoint first = side.at(*trajectory.points.front());
        const RooflinePoint last = side.at(most);
        if (first.complexity_bound == Bound::compute)
          return fmt::format("is compute-bound at {} already", trajectory.points.front()->value);
        if (last.complexity_bound == Bound::compute) return "";
        return fmt::format("has {:.0f} of {:.0f} FLOP/byte{}", last.intensity.value_or(0),
                           last.balance, moved_text(most));
      });
}

/// Whether fp16 at stride 1 is compute-bound.
MaybeAnswer is_compute_bound(const StudySide& side) {
  const std::vector<Trajectory> all =
      side.trajectories(conv2d, "stride", {.dtypes = {DType::fp16}});
  if (all.empty()) return {};
  const RooflinePoint shown = side.at(*all.front().points.front());
  return over_trajectories(
      all, fmt::format("{:.0f} of {:.0f} FLOP/byte", shown.intensity.value_or(0), shown.balance),
      [&](const Trajectory& trajectory) -> std::string {
        const KernelPoint& point = *trajectory.points.front();
        const RooflinePoint at = side.at(point);
        if (at.complexity_bound == Bound::compute) return "";
        return fmt::format("has {:.0f} of {:.0f} FLOP/byte{}", at.intensity.value_or(0), at.balance,
                           moved_text(point));
      });
}

/// Whether the way from one stride to the next is steep on the log-log plane of bytes and FLOP.
MaybeAnswer stride_lowers(const StudySide& side, std::size_t from) {
  const auto track = side.track(conv2d, "stride", DType::fp16);
  if (track.size() < from + 2) return {};
  const KernelPoint& a = *track[from];
  const KernelPoint& b = *track[from + 1];
  const auto [bytes_a, is_counted] = bytes_of_point(a);
  if (a.work.flop == 0 || !(bytes_a > 0)) return {};
  const double flop = static_cast<double>(b.work.flop) / static_cast<double>(a.work.flop);
  const double bytes = bytes_of_point(b).first / bytes_a;
  const bool does_fall = flop < 1 - limits::almost_equal;
  const bool is_steep = std::fabs(std::log(bytes)) <= std::fabs(std::log(flop)) / limits::steep;
  return {{fmt::format("{} FLOP, {} bytes{}", growth_text(flop), growth_text(bytes),
                       is_counted ? " counted" : ""),
           does_fall && is_steep,
           does_fall ? fmt::format("bytes change by more than {:.2f}×, the root of the FLOP's",
                                   std::sqrt(flop))
                     : "the FLOP do not fall"}};
}

/// Share of the arithmetic that the matrix units did, at one value of a sweep in fp16.
MaybeAnswer matrix_share(const StudySide& side, std::string_view parameter, std::int64_t value) {
  for (const KernelPoint* point : side.track(conv2d, parameter, DType::fp16)) {
    const auto counted = point->counted_matrix_flop();
    if (point->value != value || !counted || point->work.flop == 0) continue;
    const double share = *counted / static_cast<double>(point->work.flop);
    return {{fmt::format("matrix units did {:.0f} % of the FLOP", 100 * share)}};
  }
  return {};
}

// "Counters" are of what Strata runs: the paper's are of frameworks.
constexpr std::string_view of_strata = "of Strata's own kernels";

std::vector<RooflineClaim> counter_claims() {
  return {
      {.about = "counters",
       .kernel = conv2d,
       .what = "bytes that do not grow from fp16 to fp32 betray a conversion",
       .printed = "seen",
       .sentence =
           "Bytes that do not grow from fp16 to fp32 come from a hidden conversion of the data "
           "type (Conv2D over batch)",
       .rule = fmt::format("holds where counted bytes grow less than 1.25× at every batch, {}",
                           of_strata),
       .ask = growth_of_bytes},
      {.about = "counters",
       .kernel = conv2d,
       .what = "FLOP that the tensor units did at batch 16 (fp16 forward), Strata",
       .printed = "",
       .sentence = "",
       .rule = "no verdict: those of frameworks are judged",
       .ask = [](const StudySide& side) { return matrix_share(side, "batch", 16); }},
      {.about = "counters",
       .kernel = conv2d,
       .what = "an fp32 algorithm on fp16 data at stride 3",
       .printed = "one framework",
       .sentence = "One framework falls back to an fp32 algorithm on fp16 data at stride 3 (Conv2D "
                   "over stride)",
       .rule = "no verdict: strides were captured of Strata alone",
       .ask = [](const StudySide& side) { return matrix_share(side, "stride", 3); }},
      {.about = "counters",
       .kernel = conv2d,
       .what = "launches without FLOP, zero AI (fp16 forward)",
       .printed = "seen",
       .sentence = "Some of the launches do no FLOP: copies and changes of layout (Conv2D)",
       .rule = fmt::format("holds where the device counted such a launch, {}", of_strata),
       .ask = [](const StudySide& side) { return zero_flop_launches(side, conv2d); }}};
}

constexpr std::string_view more_filters =
    "More filters raise arithmetic intensity and FLOP per second (Conv2D over filters)";
constexpr std::string_view larger_kernel =
    "With the kernel size FLOP grow at constant data movement, which raises arithmetic intensity "
    "and "
    "FLOP per second (Conv2D over kernel size, figures 5 and 6)";

const CourseClaim conv2d_courses[] = {
    {"batch", conv2d, "batch", "a larger batch keeps FLOP per byte, forward (16 → 64, fp16)",
     "In the forward pass FLOP and bytes grow alike, arithmetic intensity stays (Conv2D over "
     "batch, "
     "figure 3)",
     &followed_intensity, Course::stays, Tracks{.passes = {"forward"}}},
    {"batch", conv2d, "batch", "and backward it does not (16 → 64, fp16)",
     "In the backward pass arithmetic intensity does not stay (Conv2D over batch, figure 3)",
     &followed_intensity, Course::changes, Tracks{.passes = {"backward"}}},
    {"filters", conv2d, "filters", "more filters raise FLOP per byte (64 → 512, fp16 forward)",
     more_filters, &followed_intensity, Course::rises},
    {"filters", conv2d, "filters",
     "and the rate of arithmetic, where it is not at the peak already", more_filters,
     &followed_rate, Course::rises},
    {"kernel", conv2d, "kernel", "a larger kernel raises FLOP per byte (3 → 9, fp16 forward)",
     larger_kernel, &followed_intensity, Course::rises},
    {"kernel", conv2d, "kernel", "and the rate of arithmetic, where it is not at the peak already",
     larger_kernel, &followed_rate, Course::rises},
    {"kernel", conv2d, "kernel", "at constant data movement (bytes, 3 → 9, fp16 forward)",
     larger_kernel, &followed_bytes, Course::stays},
    {"stride", conv2d, "stride",
     "a larger stride is more overhead-bound: launches × latency over run time (1 → 3)",
     "The larger the stride, the more it is bound by overhead (Conv2D over stride, figures 7 and "
     "8)",
     &followed_overhead_share, Course::rises}};

RooflineClaim filters_claim() {
  return {.about = "filters",
          .kernel = conv2d,
          .what = "512 filters become compute-bound",
          .printed = "compute-bound",
          .sentence = "At 512 filters the kernel becomes compute-bound (Conv2D over filters)",
          .rule = fmt::format(
              "holds where FLOP per byte are below {} at 64 filters and not at 512, along {}",
              ceilings_rule, Tracks{}.words()),
          .ask = become_compute_bound};
}

RooflineClaim stride_one_claim() {
  const Tracks fp16{.dtypes = {DType::fp16}};
  return {.about = "stride",
          .kernel = conv2d,
          .what = "fp16 at stride 1 is compute-bound",
          .printed = "compute-bound",
          .sentence = "At stride 1 fp16 is compute-bound (Conv2D over stride, figures 7 and 8)",
          .rule = fmt::format("holds where FLOP per byte are not below {}, along {}", ceilings_rule,
                              fp16.words()),
          .ask = is_compute_bound};
}

RooflineClaim stride_claim(std::size_t from) {
  return {.about = "stride",
          .kernel = conv2d,
          .what = fmt::format("stride {} → {} lowers FLOP far more than bytes (fp16 forward)",
                              from + 1, from + 2),
          .printed = "FLOP falls, bytes stay",
          .sentence =
              "FLOP fall with the stride, bytes are relatively constant compared with them (Conv2D "
              "over stride, figures 7 and 8)",
          .rule =
              "holds where FLOP fall by more than 20 % and bytes by no more than their root: at "
              "least twice as steep on the log-log plane",
          .ask = [from](const StudySide& side) { return stride_lowers(side, from); }};
}

}  // namespace

std::vector<RooflineClaim> conv2d_claims() {
  constexpr std::string_view sweeps[] = {"batch", "filters", "kernel", "stride"};
  std::vector<RooflineClaim> claims = {filters_claim(), stride_claim(0), stride_claim(1),
                                       stride_one_claim()};
  for (const CourseClaim& course : conv2d_courses) claims.push_back(claim_of(course));
  const auto place_of = [&](const RooflineClaim& claim) {
    return std::find(std::begin(sweeps), std::end(sweeps), claim.about);
  };
  std::stable_sort(claims.begin(), claims.end(),
                   [&](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
  for (RooflineClaim& claim : counter_claims()) claims.push_back(std::move(claim));
  return claims;
}

}  // namespace strata
