// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/chart.hpp"
#include "strata/sweep/table.hpp"

#include <cstddef>
#include <string_view>

namespace strata {

/// More lines than this nobody can tell apart.
inline constexpr std::size_t most_sweep_lines = 16;

/// A column of a sweep over its capacity, or over its first other axis of numbers that has several
/// values; a line for each combination of the other axes. Points that failed are left out. Errors
/// (usage): there is no such axis, no such column of numbers, or there would be too many lines.
chart::Chart sweep_chart(const SweepTable& table, std::string_view column = "time_s");

}  // namespace strata
