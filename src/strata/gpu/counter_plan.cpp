// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/counter_plan.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

const MetricPreset& preset_of(const ChipMetrics& metrics, std::string_view name) {
  std::vector<std::string> names;
  for (const MetricPreset& preset : metrics.presets) {
    if (preset.name == name) return preset;
    names.push_back(preset.name);
  }
  fail(ErrorKind::usage, "there are no metrics '{}'{}; there are {}", name,
       did_you_mean(name, names), fmt::join(names, ", "));
}

void add_names(const MetricColumn& column, std::vector<std::string>& names) {
  for (const MetricSum& alternative : column.alternatives) {
    for (const MetricTerm& term : alternative) {
      if (std::find(names.begin(), names.end(), term.metric) == names.end())
        names.push_back(term.metric);
    }
  }
}

std::vector<std::string> names_of(const ChipMetrics& metrics, const MetricPreset& preset) {
  std::vector<std::string> names;
  for (const std::string& session : preset.sessions) {
    for (const std::string& key : metrics.session(session)->columns) {
      const MetricColumn& column = *metrics.column(key);
      add_names(column, names);
      if (!column.over.empty()) add_names(*metrics.column(column.over), names);
    }
  }
  return names;
}

/// The first sum of the column that the chip can form, or null with the first name that it lacks.
const MetricSum* known_way(const MetricColumn& column, const std::set<std::string>& accepted,
                           std::string& missing) {
  for (const MetricSum& alternative : column.alternatives) {
    const auto lacking =
        std::find_if(alternative.begin(), alternative.end(),
                     [&](const MetricTerm& term) { return !accepted.contains(term.metric); });
    if (lacking == alternative.end()) return &alternative;
    if (missing.empty()) missing = lacking->metric;
  }
  return nullptr;
}

void need(PlannedSession& session, const MetricSum& sum) {
  for (const MetricTerm& term : sum) {
    if (std::find(session.metrics.begin(), session.metrics.end(), term.metric) ==
        session.metrics.end())
      session.metrics.push_back(term.metric);
    session.is_sass = session.is_sass || is_sass_metric(term.metric);
  }
}

double sum_of(const MetricSum& sum, const std::map<std::string, double, std::less<>>& values) {
  double total = 0;
  for (const MetricTerm& term : sum) {
    const auto found = values.find(term.metric);
    if (found == values.end()) return std::nan("");
    total += term.factor * found->second;
  }
  return total;
}

}  // namespace

CounterPlan plan_counters(const ChipMetrics& metrics, std::string_view preset,
                          const AcceptedMetrics& accepted) {
  const MetricPreset& chosen = preset_of(metrics, preset);
  CounterPlan plan{.preset = chosen.name};
  if (chosen.sessions.empty()) return plan;
  const std::set<std::string> known = accepted(names_of(metrics, chosen));
  for (const std::string& name : chosen.sessions) {
    const MetricSession& session = *metrics.session(name);
    PlannedSession planned{.name = session.name, .passes = session.passes};
    for (const std::string& key : session.columns) {
      const MetricColumn& column = *metrics.column(key);
      const MetricColumn* divisor = column.over.empty() ? nullptr : metrics.column(column.over);
      std::string missing;
      const MetricSum* sum = known_way(column, known, missing);
      const MetricSum* over = divisor == nullptr ? nullptr : known_way(*divisor, known, missing);
      if (sum == nullptr || (divisor != nullptr && over == nullptr)) {
        plan.absent.push_back({key, fmt::format("the chip has no {}", missing)});
        continue;
      }
      need(planned, *sum);
      if (over != nullptr) need(planned, *over);
      planned.columns.push_back(
          {column.key, column.unit, column.about, *sum, over != nullptr ? *over : MetricSum{}});
    }
    if (!planned.columns.empty()) plan.sessions.push_back(std::move(planned));
  }
  std::stable_partition(plan.sessions.begin(), plan.sessions.end(),
                        [](const PlannedSession& session) { return !session.is_sass; });
  return plan;
}

std::optional<double> column_value(const PlannedColumn& column,
                                   const std::map<std::string, double, std::less<>>& values) {
  double value = sum_of(column.sum, values);
  if (!column.over.empty()) {
    const double divisor = sum_of(column.over, values);
    if (!(divisor > 0)) return std::nullopt;
    value /= divisor;
  }
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace strata
