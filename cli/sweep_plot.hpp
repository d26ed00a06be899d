// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/api/sweep.hpp"
#include "strata/sweep/table.hpp"

/// The picture that `strata sweep` draws of its points: --plot FILE, or --plot COLUMN=FILE for
/// another column than the time.
namespace strata {

inline constexpr Flag sweep_plot_flag{.name = "plot",
                                      .value = "FILE",
                                      .help = "A picture: time.svg, samples_per_s=rate.png.",
                                      .offer = Offer::file};

/// Errors of what cannot be drawn, before a point is computed: (usage) the name of the file, the
/// column, too many lines; (environment) this build makes no PNG.
void check_plot(const Arguments& given, const Sweep& sweep);
/// Of these errors those that need no sweep.
void check_plot(const Arguments& given);

/// Draws it where --plot was given.
void draw_plot(const Arguments& given, const SweepTable& table);

}  // namespace strata
