// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Pictures of results as data: what is to be seen, not how it is drawn. One function makes an SVG
/// of it, the same bytes every time. Numbers are in base units; axes choose what people read.
///
///     const chart::Chart chart{
///         .title = "Time over capacity",
///         .x = {.title = "on-chip capacity", .quantity = chart::Quantity::capacity},
///         .y = {.title = "time", .quantity = chart::Quantity::seconds, .from_zero = true},
///         .series = {{.name = "13.45 TFLOP/s", .points = points}}};
///     write_file("time.svg", to_svg(chart));
namespace strata::chart {

/// What the numbers of an axis are: decides their units and where the ticks are.
enum class Quantity : std::uint8_t {
  number,
  bytes,     ///< moved: powers of 1000
  capacity,  ///< bytes that a memory holds: powers of 1024
  bytes_per_s,
  flop,
  flop_per_s,
  seconds,
  share
};

enum class ScaleKind : std::uint8_t { linear, logarithmic };

struct Axis {
  std::string title;
  Quantity quantity = Quantity::number;
  ScaleKind scale = ScaleKind::linear;
  std::optional<double> least;          ///< where it begins; default: at a tick below all data
  std::optional<double> most;           ///< where it ends; default: at a tick above all data
  bool from_zero = false;               ///< a linear axis that shows 0 although no data is there
  std::vector<std::string> categories;  ///< x only: names instead of numbers, the i-th at x = i
  bool has_labels = true;               ///< x only; false: those of the panel below say it
};

/// Index into eight colours that people with any colour vision tell apart (Okabe and Ito, "Color
/// Universal Design", 2008), then a second tone of each (palette.hpp); shape and dash say the same
/// again. Larger ones begin anew.
using Color = std::size_t;

enum class Marker : std::uint8_t { none, circle, square, triangle, diamond, inverted, cross };
enum class Stroke : std::uint8_t { none, solid, dashed, dotted };

struct Point {
  double x = 0;
  double y = 0;
  std::string label;      ///< beside the point where there is room, and when pointed at
  std::string hint = {};  ///< when pointed at, instead of the label
};

/// Points, joined by a line unless its stroke is none: a curve, a cloud, a trajectory.
struct Series {
  std::string name;  ///< in the legend, once for all panels; empty: not there
  std::vector<Point> points;
  Color color = 0;
  Stroke stroke = Stroke::solid;
  Marker marker = Marker::none;
  bool is_filled = true;    ///< the markers
  double marker_scale = 1;  ///< of their usual size: a ring around another symbol
};

/// One bar per category of the x axis.
struct Bars {
  std::string name;
  std::vector<double> values;
  Color color = 0;
};
enum class BarLayout : std::uint8_t { grouped, stacked };

enum class Direction : std::uint8_t {
  horizontal,  ///< y = at
  vertical,    ///< x = at
  diagonal,    ///< y = at · x: a bandwidth in a roofline
};

/// A ceiling, a ridge point, a diagonal of equal intensity: with its name on it.
struct ReferenceLine {
  Direction direction = Direction::horizontal;
  double at = 0;
  std::optional<double> from;  ///< of x (vertical: of y); default: the edge
  std::optional<double> to;
  std::string label;
  std::optional<Color> color;  ///< default: grey
  Stroke stroke = Stroke::dashed;
};

/// A part of the plane that means something; an absent edge is the edge of the plot. Solid ones are
/// data: the cells of a map, the area below a curve.
struct Band {
  std::optional<double> x_from;
  std::optional<double> x_to;
  std::optional<double> y_from;
  std::optional<double> y_to;
  std::string label;
  std::optional<Color> color;        ///< default: grey
  bool is_solid = false;             ///< drawn as a bar is; the label shows when pointed at
  std::optional<double> shade = {};  ///< 0 to 1 along one scale, dark to light; instead of a colour
  std::string name = {};             ///< stands on a solid one where it has room
};

/// What a shade or the colour of solid bands means, in the legend.
struct BandKey {
  std::string name;
  std::optional<double> shade;
  Color color = 0;
};

/// A part of a ring, clockwise from the top.
struct Slice {
  std::string name;  ///< in the legend
  double value = 0;  ///< its share is that of the sum of all
  Color color = 0;
  std::string hint = {};  ///< when pointed at
};

/// Shares of a whole as a ring: a panel with one has no axes and nothing else.
struct Ring {
  std::vector<Slice> slices;
  std::string middle;      ///< what the whole is, in its middle: "157 µs"
  std::string below = {};  ///< of what, in smaller letters
};

struct Chart {
  std::string title;
  std::string subtitle;
  Axis x;
  Axis y;
  std::vector<Series> series;
  std::vector<Bars> bars;
  BarLayout bar_layout = BarLayout::grouped;
  std::vector<ReferenceLine> lines;
  std::vector<Band> bands;
  std::vector<BandKey> band_keys = {};
  Ring ring = {};
};

/// Charts of one kind side by side, under one title and one legend.
struct ChartGrid {
  std::string title;
  std::string subtitle;
  std::vector<Chart> panels;
  std::size_t columns = 2;
  double width = 800;        ///< pixels, of the whole picture
  double plot_height = 200;  ///< pixels, of the area in which data is drawn
  double width_pt = 0;       ///< on paper; 0: a pixel is a pixel
};

/// Errors (input) name what cannot be drawn: a number that is not finite, one that is not above 0
/// on a logarithmic axis, an axis that ends before it begins, bars without their categories, a ring
/// of nothing or beside axes.
std::string to_svg(const ChartGrid& grid);
std::string to_svg(const Chart& chart, double width = 800, double plot_height = 420);

}  // namespace strata::chart
