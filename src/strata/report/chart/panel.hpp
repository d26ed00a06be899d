// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/axis_scale.hpp"
#include "strata/report/chart/scene.hpp"

namespace strata::chart {

/// Refuses what cannot be drawn; see to_svg.
void check(const Chart& chart);

/// What the data of a chart spans.
Range x_range(const Chart& chart);
Range y_range(const Chart& chart);

/// Room that a panel needs around its plot.
double left_room(const Chart& chart, double plot_height);
double top_room(const Chart& chart);
double bottom_room(const Chart& chart, double plot_width);
/// How far tilted names of categories reach beyond the left edge of the plot.
double left_overhang(const Chart& chart, double plot_width);

/// Draws one chart: axes, data, reference lines, labels. `cell` is all the room it has.
void draw_panel(Scene& scene, const Chart& chart, const Rect& cell, const Rect& plot);

/// A panel of a ring: its title, the slices with their shares, the whole in the middle.
void draw_ring(Scene& scene, const Chart& chart, const Rect& cell, const Rect& plot);
void check_ring(const Chart& chart);

/// The classes of a series' line and of its markers; the legend shows the same.
StyleClasses line_style(const Series& series);
StyleClasses marker_style(const Series& series);

/// The classes of the palette: "s3" draws lines, "f3" fills.
std::string stroke_class(Color color);
std::string fill_class(Color color);
/// "h7": of the shades of a map.
std::string shade_class(double shade);
StyleClasses band_style(const Band& band);

}  // namespace strata::chart
