// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/roofline_claims.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace strata {
namespace {

namespace limits = roofline_limits;

constexpr std::string_view conv2d = "conv2d";
constexpr std::string_view rising_rule =
    "holds where it rises along fp16 and fp32, forward and backward; 2 % are noise";

/// As the device counted them, where it did.
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

/// Below the balance of tensor peak and bandwidth at the fewest filters, above it at the most.
MaybeAnswer become_compute_bound(const StudySide& side) {
  const std::vector<Trajectory> all = side.trajectories(conv2d, "filters");
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
        const auto counted = most.counted_bytes();
        return fmt::format(
            "has {:.0f} of {:.0f} FLOP/byte{}", last.intensity.value_or(0), last.balance,
            counted ? fmt::format(" ({} counted, {} must move)", format_bytes(*counted),
                                  format_bytes(static_cast<double>(most.work.bytes)))
                    : "");
      });
}

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
  return {{fmt::format("{} FLOP, {} bytes{}", growth_text(flop), growth_text(bytes),
                       is_counted ? " counted" : ""),
           does_fall && std::fabs(bytes - 1) <= limits::almost_equal,
           !does_fall ? "the FLOP do not fall"
           : bytes < 1
               ? "the output shrinks, too; at stride 1 it is half of the bytes that must move"
               : "the bytes grow"}};
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

RooflineClaim conv2d_claim(std::string about, std::string what, std::string printed,
                           std::string_view rule,
                           std::function<MaybeAnswer(const StudySide&)> ask) {
  return {std::move(about),  conv2d,        std::move(what), std::move(printed),
          std::string(rule), std::move(ask)};
}

/// The same number along a sweep, rising.
RooflineClaim rising_claim(std::string_view parameter, std::string what,
                           const FollowedNumber& number) {
  return conv2d_claim(std::string(parameter), std::move(what), "rises", rising_rule,
                      [parameter, &number](const StudySide& side) {
                        return rises_along(side, conv2d, parameter, number);
                      });
}

void add_stride_claims(std::vector<RooflineClaim>& claims) {
  for (std::size_t from = 0; from < 2; ++from) {
    claims.push_back(conv2d_claim(
        "stride",
        fmt::format("stride {} → {} lowers FLOP at almost equal bytes (fp16 forward)", from + 1,
                    from + 2),
        "FLOP falls, bytes stay", "holds where FLOP fall by more than 20 % and bytes stay within",
        [from](const StudySide& side) { return stride_lowers(side, from); }));
  }
  claims.push_back(rising_claim(
      "stride", "a larger stride is more overhead-bound: launches × latency over run time (1 → 3)",
      followed_overhead_share));
}

void add_counter_claims(std::vector<RooflineClaim>& claims) {
  constexpr std::string_view of_strata = "of what Strata runs; the paper's are of frameworks";
  claims.push_back(conv2d_claim(
      "counters", "bytes that do not grow from fp16 to fp32 betray a conversion", "seen",
      "seen where counted bytes grow less than 1.25× at every batch; " + std::string(of_strata),
      growth_of_bytes));
  claims.push_back(
      conv2d_claim("counters", "tensor units unused at small batch", "one framework", of_strata,
                   [](const StudySide& side) { return matrix_share(side, "batch", 16); }));
  claims.push_back(conv2d_claim(
      "counters", "an fp32 algorithm on fp16 data at stride 3", "one framework", of_strata,
      [](const StudySide& side) { return matrix_share(side, "stride", 3); }));
  claims.push_back(
      conv2d_claim("counters", "launches without FLOP, zero AI (fp16 forward)", "seen", of_strata,
                   [](const StudySide& side) { return zero_flop_launches(side, conv2d); }));
}

}  // namespace

std::vector<RooflineClaim> conv2d_claims() {
  std::vector<RooflineClaim> claims = {
      conv2d_claim("batch", "a larger batch keeps FLOP per byte (16 → 64, fp16 forward)",
                   "constant",
                   "holds where the largest is at most 10 % above the smallest along fp16 and "
                   "fp32, forward and backward",
                   [](const StudySide& side) {
                     return stays_along(side, conv2d, "batch", followed_intensity);
                   }),
      rising_claim("filters", "more filters raise FLOP per byte (64 → 512, fp16 forward)",
                   followed_intensity),
      rising_claim("filters", "and the rate of arithmetic, where it is not at the peak already",
                   followed_rate),
      conv2d_claim("filters", "512 filters become compute-bound", "compute-bound",
                   "holds where FLOP per byte are below the balance of tensor peak and bandwidth "
                   "(of its mix of reads and writes) at 64 filters and not at 512, along fp16 and "
                   "fp32, forward and backward",
                   become_compute_bound),
      rising_claim("kernel", "a larger kernel raises FLOP per byte (3 → 9, fp16 forward)",
                   followed_intensity),
      rising_claim("kernel", "and the rate of arithmetic, where it is not at the peak already",
                   followed_rate)};
  add_stride_claims(claims);
  add_counter_claims(claims);
  return claims;
}

}  // namespace strata
