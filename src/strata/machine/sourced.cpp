// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/sourced.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata {

double median_of(std::span<const double> numbers) {
  STRATA_CHECK(!numbers.empty(), "nothing has no median");
  std::vector<double> sorted(numbers.begin(), numbers.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double median_deviation_of(std::span<const double> numbers) {
  const double median = median_of(numbers);
  std::vector<double> distances;
  distances.reserve(numbers.size());
  for (const double number : numbers) distances.push_back(std::fabs(number - median));
  return median_of(distances);
}

Measurement evidence_of(std::string method, std::span<const double> samples_s) {
  Measurement evidence;
  evidence.method = std::move(method);
  evidence.samples_s.assign(samples_s.begin(), samples_s.end());
  if (samples_s.empty()) return evidence;
  const double median_s = median_of(samples_s);
  evidence.deviation_s = median_deviation_of(samples_s);
  if (median_s > 0) evidence.relative_spread = *evidence.deviation_s / median_s;
  return evidence;
}

}  // namespace strata
