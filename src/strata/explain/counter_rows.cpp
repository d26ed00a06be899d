// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/counter_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr std::size_t most_rows_named = 3;

}  // namespace

CounterRows rows_that_weigh(const ExplainContext& context, const RowWeight& weight_s) {
  CounterRows found;
  const std::vector<ProfileRow>& rows = context.profile().rows;
  std::vector<double> weights(rows.size(), 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].counters.empty() || !(rows[i].totals.time_s > 0)) continue;
    weights[i] = weight_s(rows[i], i);
    if (!(weights[i] > 0)) continue;
    found.rows.push_back(i);
    found.time_s += rows[i].totals.time_s;
    found.weight_s += weights[i];
  }
  std::stable_sort(found.rows.begin(), found.rows.end(),
                   [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  return found;
}

std::string first_rows_text(const ExplainContext& context, const CounterRows& rows,
                            const RowText& number) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(most_rows_named, rows.rows.size()); ++i) {
    const std::size_t at = rows.rows[i];
    names.push_back(fmt::format("{} {}", row_name(context.profile().rows[at]), number(at)));
  }
  const std::size_t more = rows.rows.size() - names.size();
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::optional<double> row_counter(const ExplainContext& context, std::size_t at,
                                  std::string_view key) {
  return counter_of(context.profile(), context.profile().rows[at], key);
}

std::optional<double> mean_counter(const ExplainContext& context, const CounterRows& rows,
                                   std::string_view key) {
  double sum = 0;
  double time_s = 0;
  for (const std::size_t at : rows.rows) {
    const auto value = row_counter(context, at, key);
    if (!value) continue;
    const double row_s = context.profile().rows[at].totals.time_s;
    sum += row_s * *value;
    time_s += row_s;
  }
  return time_s > 0 ? std::optional(sum / time_s) : std::nullopt;
}

double sum_counter(const ExplainContext& context, const CounterRows& rows, std::string_view key) {
  double sum = 0;
  for (const std::size_t at : rows.rows) sum += row_counter(context, at, key).value_or(0);
  return sum;
}

void add_share(const ExplainContext& context, const CounterRows& rows, std::string what,
               std::string_view key, ProfileFinding& finding) {
  if (const auto share = mean_counter(context, rows, key))
    finding.evidence.push_back({std::move(what), *share, Measure::share});
}

}  // namespace strata
