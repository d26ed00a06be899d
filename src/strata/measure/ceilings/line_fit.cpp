// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/line_fit.hpp"

#include <algorithm>

namespace strata {

// Least squares of t = a + b n with weights w = 1/t²: the normal equations
//   [Σw  Σwn ] [a]   [Σwt ]
//   [Σwn Σwn²] [b] = [Σwtn]
// with sizes scaled by the largest, so that the determinant keeps its digits.
std::optional<TransferCost> fit_transfers(std::span<const TransferTime> times) {
  double largest = 0;
  for (const TransferTime& time : times) {
    if (!(time.bytes > 0) || !(time.seconds > 0)) return std::nullopt;
    largest = std::max(largest, time.bytes);
  }
  double w = 0, wn = 0, wnn = 0, wt = 0, wtn = 0;
  for (const TransferTime& time : times) {
    const double weight = 1 / (time.seconds * time.seconds);
    const double n = time.bytes / largest;
    w += weight;
    wn += weight * n;
    wnn += weight * n * n;
    wt += weight * time.seconds;
    wtn += weight * time.seconds * n;
  }
  const double determinant = w * wnn - wn * wn;
  if (times.size() < 2 || !(determinant > 0)) return std::nullopt;
  const double latency_s = (wt * wnn - wtn * wn) / determinant;
  const double slope_s = (w * wtn - wn * wt) / determinant;  // of the largest transfer
  if (!(slope_s > 0)) return std::nullopt;
  const auto smallest = std::min_element(
      times.begin(), times.end(),
      [](const TransferTime& a, const TransferTime& b) { return a.bytes < b.bytes; });
  return TransferCost{latency_s > 0 ? latency_s : smallest->seconds, largest / slope_s};
}

}  // namespace strata
