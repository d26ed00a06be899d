// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/chart.hpp"

#include <cstddef>
#include <string>
#include <vector>

/// Where an axis has marks, and what stands there. Capacities count in powers of 1024 and
/// everything else in powers of 1000, as everywhere (base/units.hpp).
namespace strata::chart {

struct Range {
  double least = 0;
  double most = 0;
};

struct Ticks {
  std::vector<double> values;       ///< ascending, in base units
  std::vector<std::string> labels;  ///< one per value
  std::vector<double> minor;        ///< marks without a label
  std::string unit;                 ///< that all labels share; empty when each has its own
};

/// The least of 1, 2 and 5 times a power of ten that is not below a number above 0.
double nice_step(double at_least);

/// At most about `most_ticks` marks: multiples of a nice step in one unit.
Ticks linear_ticks(Range range, std::size_t most_ticks, Quantity quantity);
/// Powers of ten (of two for capacities), with 2 and 5 times them where the range is short; equal
/// steps where it is too short for that.
Ticks log_ticks(Range range, std::size_t most_ticks, Quantity quantity);

/// The range from tick to tick that holds all of `data`; an edge that is `fixed` stays.
Range rounded_out(Range data, const Axis& axis, std::size_t most_ticks);

/// "64 MiB", "10 GFLOP/s", "0.01": a number by itself.
std::string label_of(double value, Quantity quantity, int digits = 1);

}  // namespace strata::chart
