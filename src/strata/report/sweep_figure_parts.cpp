// SPDX-License-Identifier: Apache-2.0
#include "strata/report/sweep_figure_parts.hpp"

#include "strata/base/units.hpp"
#include "strata/report/sweep_figures.hpp"
#include "strata/report/sweep_text.hpp"
#include "strata/sweep/answers_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {

chart::Quantity quantity_of_column(std::string_view name) {
  if (name.ends_with("_bytes_per_s")) return chart::Quantity::bytes_per_s;
  if (name.ends_with("_flop_per_s")) return chart::Quantity::flop_per_s;
  if (name.ends_with("_bytes"))
    return is_capacity_name(name) ? chart::Quantity::capacity : chart::Quantity::bytes;
  if (name.ends_with("_per_s")) return chart::Quantity::number;
  if (name.ends_with("_s")) return chart::Quantity::seconds;
  if (name == "utilisation") return chart::Quantity::share;
  return chart::Quantity::number;
}

// "area\nmm²" is a heading of two lines; the unit belongs to an axis, not to a title.
std::string column_title(const SweepColumn& column) {
  std::string heading = readable_heading(column.name);
  heading = heading.substr(0, heading.find('\n'));
  std::replace(heading.begin(), heading.end(), '_', ' ');
  return heading;
}

chart::Axis column_axis(const SweepColumn& column) {
  const std::string heading = readable_heading(column.name);
  const std::size_t line = heading.find('\n');
  return {.title = line == heading.npos
                       ? column_title(column)
                       : fmt::format("{} ({})", column_title(column), heading.substr(line + 1)),
          .quantity = quantity_of_column(column.name)};
}

std::string fixed_axes_text(const SweepTable& table) {
  std::string text;
  const std::vector<std::size_t> varying = varying_axes(table);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const SweepColumn& column = table.columns[i];
    if (!column.is_axis || table.row_count == 0) continue;
    if (std::find(varying.begin(), varying.end(), i) != varying.end()) continue;
    const std::string cell = readable_cell(column, 0);
    if (cell.empty()) continue;
    const bool needs_name =
        column.is_number && quantity_of_column(column.name) == chart::Quantity::number;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ",
                        needs_name ? column_title(column) + " " : "", cell);
  }
  return text;
}

}  // namespace strata
