// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/sweep.hpp"
#include "strata/sweep/table.hpp"

#include <array>

/// The picture that `strata sweep` draws of its points.
namespace strata {

inline constexpr Flag sweep_plot_flag{.name = "plot",
                                      .value = "FILE",
                                      .help = "A picture over the capacity: FILE.svg or .png.",
                                      .offer = Offer::file};
inline constexpr Flag plot_column_flag{
    .name = "plot-column", .value = "COLUMN", .help = "What it shows; else time_s."};
inline constexpr std::array<Flag, 2> sweep_plot_flags = {sweep_plot_flag, plot_column_flag};

/// Errors of what cannot be drawn, before a point is computed: (usage) the name of the file, the
/// column, too many lines; (environment) this build makes no PNG.
void check_plot(const Arguments& given, const Sweep& sweep);
/// Of these errors those that need no sweep.
void check_plot(const Arguments& given);

/// Draws it where --plot was given.
void draw_plot(const Arguments& given, const SweepTable& table);

}  // namespace strata
