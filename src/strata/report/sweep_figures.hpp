// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/chart.hpp"
#include "strata/sweep/table.hpp"

#include <optional>
#include <string>
#include <string_view>

/// The table of a sweep as pictures. Columns are named as SweepTable::find takes them; what is not
/// named is chosen: the first axis of numbers that varies, and the time. Errors (usage, input) say
/// which column there is none of, or that nothing varies.
namespace strata {

struct SweepFigureChoice {
  std::optional<std::string> x;  ///< an axis of numbers
  std::optional<std::string> y;  ///< lines: the result shown; maps: the second axis
  std::optional<std::string> z;  ///< maps: the result shown
};

/// A line for each combination of the other axes.
chart::Chart sweep_line_figure(const SweepTable& table, const SweepFigureChoice& choice = {});

/// Colour over two axes; a panel for each combination of the others.
chart::ChartGrid sweep_heat_figure(const SweepTable& table, const SweepFigureChoice& choice = {});

/// All points, and those that no other betters in both goals; x and y are goals (as --pareto takes
/// them); default: area of on-chip memory, else capacity, and time.
chart::ChartGrid sweep_pareto_figure(const SweepTable& table, const SweepFigureChoice& choice = {});

/// Samples per second over the batch, a line for each combination of the other axes.
chart::ChartGrid sweep_batch_figure(const SweepTable& table);

/// What the numbers of a column are, by the unit in its name.
chart::Quantity quantity_of_column(std::string_view name);

}  // namespace strata
