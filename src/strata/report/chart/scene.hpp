// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/chart.hpp"

#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// A picture after layout: shapes at pixels, before it becomes text. Tests ask it what lies where.
namespace strata::chart {

struct Place {
  double x = 0;  ///< to the right
  double y = 0;  ///< downwards
};

struct Rect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;

  double right() const { return x + width; }
  double bottom() const { return y + height; }
  bool contains(Place place) const {
    return place.x >= x && place.x <= right() && place.y >= y && place.y <= bottom();
  }
};

/// Classes of the style sheet, separated by spaces: "line s0", "bar f1", "grid".
using StyleClasses = std::string;

struct LineShape {
  std::vector<Place> places;
  StyleClasses style;
};
struct RectShape {
  Rect rect;
  StyleClasses style;
  std::string hint;  ///< shown when pointed at
};
struct MarkerShape {
  Place center;
  Marker marker = Marker::circle;
  StyleClasses style;
  std::string hint;
  double scale = 1;
};

/// Between two circles; angles in turns, clockwise from the top.
struct ArcShape {
  Place center;
  double inner = 0;  ///< radii
  double outer = 0;
  double from = 0;
  double to = 1;
  StyleClasses style;
  std::string hint;
};

enum class Anchor : std::uint8_t { start, middle, end };
enum class Weight : std::uint8_t { normal, bold };

struct TextShape {
  std::string text;
  Place place;  ///< of the anchor on the base line
  double size = 11;
  Anchor anchor = Anchor::start;
  double degrees = 0;  ///< clockwise, around the anchor
  Weight weight = Weight::normal;
  StyleClasses style = "text";
};

using Shape = std::variant<LineShape, RectShape, MarkerShape, ArcShape, TextShape>;

struct Scene {
  double width = 0;
  double height = 0;
  double width_pt = 0;  ///< on paper; 0: a pixel is a pixel
  std::string title;    ///< for those who hear pictures
  std::string description;
  std::vector<Shape> shapes;  ///< later ones lie on top
};

inline constexpr double marker_radius = 3.5;

/// Where everything lies.
Scene laid_out(const ChartGrid& grid);
std::string to_svg(const Scene& scene);

/// How wide text is, estimated with the widths of DejaVu Sans, the widest of the usual fonts: what
/// does not overlap by this estimate does not overlap on screen.
double text_width(std::string_view text, double size, Weight weight = Weight::normal);
/// As much of the text as fits, with '…' for the rest.
std::string fitted(std::string_view text, double size, Weight weight, double width);
/// Broken at spaces into lines that fit.
std::vector<std::string> wrapped(std::string_view text, double size, double width);

/// The corners of the box around a text, in order.
using Corners = std::array<Place, 4>;
Corners corners_of(const TextShape& text);
bool overlap(const Corners& a, const Corners& b);
bool inside(const Corners& corners, const Rect& rect);

}  // namespace strata::chart
