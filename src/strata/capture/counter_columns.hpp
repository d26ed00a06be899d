// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"
#include "strata/profile/profile.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace strata {

/// The columns of data/metrics out of the counters of a recording, whatever they are called there:
/// by our key, or by NVIDIA's names.
class CounterColumns {
 public:
  explicit CounterColumns(const Recording& recording);

  bool is_empty() const { return recording_.counters.values.empty(); }

  /// Of one kernel; nothing where a counter that it needs was not read.
  std::optional<double> value(std::size_t kernel, std::string_view key) const;

  /// Whether any kernel can have it.
  bool has(std::string_view key) const;

 private:
  std::optional<std::size_t> counter_named(std::string_view name) const;
  std::optional<double> counter(std::size_t kernel, std::string_view name) const;

  const Recording& recording_;
  std::unordered_map<std::string_view, std::size_t> at_;  ///< counters by name
};

/// Arithmetic of one kernel by data type and unit; empty: no such counters.
std::vector<TypedFlop> arithmetic_of(const CounterColumns& columns, std::size_t kernel);
bool has_arithmetic(const CounterColumns& columns);

}  // namespace strata
