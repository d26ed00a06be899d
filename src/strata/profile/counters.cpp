// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/counters.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <array>

namespace strata {
namespace {

constexpr std::array<std::string_view, 5> units_of_counts = {"bytes", "flop", "instructions",
                                                             "cycles", "accesses"};

}  // namespace

std::optional<std::size_t> ProfileCounters::place_of(std::string_view key) const {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const CounterColumn& column) { return column.key == key; });
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

bool adds_up(std::string_view unit) {
  return std::find(units_of_counts.begin(), units_of_counts.end(), unit) != units_of_counts.end();
}

CounterSum::CounterSum(std::span<const CounterColumn> columns) : parts_(columns.size()) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    adds_up_.push_back(adds_up(columns[i].unit));
    if (columns[i].key == "instructions") instructions_ = i;
  }
}

void CounterSum::add(const CounterValues& values) {
  STRATA_CHECK(values.size() == parts_.size(), "a value for each column");
  const double weight = instructions_ ? values[*instructions_].value_or(0) : 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    parts_[i].is_there = true;
    parts_[i].sum += adds_up_[i] ? *values[i] : weight * *values[i];
    parts_[i].weight += weight;
  }
}

CounterValues CounterSum::values() const {
  CounterValues values;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (!part.is_there || (!adds_up_[i] && !(part.weight > 0))) {
      values.emplace_back();
    } else {
      values.emplace_back(adds_up_[i] ? part.sum : part.sum / part.weight);
    }
  }
  return values;
}

}  // namespace strata
