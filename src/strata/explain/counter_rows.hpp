// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/explain/explain_context.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Rows of a measured profile that a rule about counters is about.
namespace strata {

struct CounterRows {
  std::vector<std::size_t> rows;  ///< the one that weighs most first
  double time_s = 0;
  double weight_s = 0;  ///< all weights together: what it costs

  bool is_empty() const { return rows.empty(); }
};

/// Rows that ran and weigh something; the weight is a time: that of the row, or a part of it.
using RowWeight = std::function<double(const ProfileRow& row, std::size_t at)>;
CounterRows rows_that_weigh(const ExplainContext& context, const RowWeight& weight_s);

/// "conv2 forward 30 %, conv4 forward 33 % and 5 more": the first three.
using RowText = std::function<std::string(std::size_t at)>;
std::string first_rows_text(const ExplainContext& context, const CounterRows& rows,
                            const RowText& number);

std::optional<double> row_counter(const ExplainContext& context, std::size_t at,
                                  std::string_view key);
/// Of the rows that have it, each weighted with its time.
std::optional<double> mean_counter(const ExplainContext& context, const CounterRows& rows,
                                   std::string_view key);
double sum_counter(const ExplainContext& context, const CounterRows& rows, std::string_view key);

/// Adds the mean where the profile has the column.
void add_share(const ExplainContext& context, const CounterRows& rows, std::string what,
               std::string_view key, ProfileFinding& finding);

}  // namespace strata
