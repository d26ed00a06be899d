// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/metrics.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a preset means on one chip: which counters are read in which sessions, what becomes of
/// them, and what the chip does not have.
namespace strata {

struct PlannedColumn {
  std::string key;
  std::string unit;
  std::string about;
  MetricSum sum;
  MetricSum over;  ///< empty: divided by nothing
};

struct PlannedSession {
  std::string name;
  bool is_sass = false;              ///< kernels are patched: slow, and their times mean nothing
  std::optional<int> passes;         ///< as the file says
  std::vector<std::string> metrics;  ///< each once
  std::vector<PlannedColumn> columns;
};

struct CounterPlan {
  std::string preset;
  std::vector<PlannedSession> sessions;
  std::vector<AbsentColumn> absent;
};

/// Of these names, those that the chip has.
using AcceptedMetrics = std::function<std::set<std::string>(std::span<const std::string> metrics)>;

/// Sessions that patch kernels come last. Errors (usage) when there is no such preset.
CounterPlan plan_counters(const ChipMetrics& metrics, std::string_view preset,
                          const AcceptedMetrics& accepted);

/// A column from the values of metrics; nothing where one of them is not a number, or there is
/// nothing to divide by.
std::optional<double> column_value(const PlannedColumn& column,
                                   const std::map<std::string, double, std::less<>>& values);

}  // namespace strata
