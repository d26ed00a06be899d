// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/chart.hpp"
#include "strata/sweep/table.hpp"

#include <string>

/// What the pictures of a sweep share.
namespace strata {

/// "capacity", "samples/s": a column in a title, without its unit.
std::string column_title(const SweepColumn& column);
/// An axis for its numbers.
chart::Axis column_axis(const SweepColumn& column);
/// The axes that do not vary, as they belong below a title: "resnet50, rtx-2080-ti".
std::string fixed_axes_text(const SweepTable& table);

}  // namespace strata
