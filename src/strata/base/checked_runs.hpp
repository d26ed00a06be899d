// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace strata {

/// Measured iterations that expected times of a machine were held against, and were not made from.
struct CheckedRuns {
  std::int64_t runs = 0, networks = 0;  ///< 0: unchecked
  double median_error = 0;              ///< of the iteration, its absolute value
  double inside = 0;                    ///< share of runs inside the interval
  std::string source;

  bool operator==(const CheckedRuns&) const = default;
};

/// "checked on 52 runs of this machine: median 8 %, 90 % inside", "unchecked: no such run
/// of this machine is known".
std::string text_of(const CheckedRuns& checked);

}  // namespace strata
