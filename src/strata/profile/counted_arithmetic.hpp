// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/profile.hpp"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

/// The FLOP that a device counted, by data type and unit: of a kernel, of a row, or of a point of a
/// sweep, whoever keeps the counters.
namespace strata {

/// The value of a column of data/metrics; nothing where it was not read.
using CounterLookup = std::function<std::optional<double>(std::string_view key)>;

struct CountedArithmetic {
  std::vector<TypedFlop> parts;  ///< those of at least one FLOP
  bool has_any = false;          ///< whether any arithmetic was counted, be it none
  bool has_vector = false;       ///< whether fp32 on vector units was
  /// Whether the matrix units were counted whole: products of warp groups leave out those of single
  /// warps.
  bool has_matrix = false;
  /// Whether the fp32 part is the pipe of multiply-adds, which also multiplies integers.
  bool is_upper_bound = false;
};

std::int64_t flop_of(const std::vector<TypedFlop>& parts);

CountedArithmetic counted_arithmetic(const CounterLookup& value);

}  // namespace strata
