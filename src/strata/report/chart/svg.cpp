// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/palette.hpp"
#include "strata/report/chart/panel.hpp"
#include "strata/report/chart/xml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>
#include <variant>

namespace strata::chart {
namespace {

struct Theme {
  std::string_view background, text, muted, grid, axis;
  const Palette& palette;
};
constexpr Theme light_theme = {"#ffffff", "#1f2328", "#57606a",
                               "#e4e7eb", "#8c959f", light_palette};
constexpr Theme dark_theme = {"#16181d", "#e6e8eb", "#a8b0ba", "#31363f", "#6b7480", dark_palette};

// Colours stand in the rules themselves: variables would be shorter, but programs that print SVG
// (librsvg, Inkscape, TeX) do not know them. They skip the rule for dark screens, as they should.
std::string colors_of(const Theme& theme, std::size_t colors) {
  std::string css = fmt::format(
      ".bg{{fill:{0}}}.text{{fill:{1}}}.muted{{fill:{2}}}.halo{{stroke:{0}}}.grid{{stroke:{3}}}"
      ".axis{{stroke:{4}}}.plain{{stroke:{2}}}.grey{{fill:{4}}}.bar,.marker{{stroke:{0}}}",
      theme.background, theme.text, theme.muted, theme.grid, theme.axis);
  for (std::size_t i = 0; i < colors; ++i) {
    css += fmt::format(".s{0}{{stroke:{1}}}.f{0}{{fill:{1}}}", i, theme.palette[i]);
  }
  return css + fmt::format(".open{{fill:{}}}", theme.background);
}

/// Only for pictures that have areas, so that all others stay as they are.
std::string areas_css(const Scene& scene) {
  const auto has = [&](std::string_view kind) {
    return std::any_of(scene.shapes.begin(), scene.shapes.end(), [&](const Shape& shape) {
      const auto* rect = std::get_if<RectShape>(&shape);
      return rect != nullptr && rect->style.starts_with(kind);
    });
  };
  std::string css;
  if (has("area ") || has("shade ")) css += ".area,.shade{shape-rendering:crispEdges}";
  if (!has("shade ")) return css;
  for (std::size_t i = 0; i < shade_count; ++i)
    css += fmt::format(".h{}{{fill:{}}}", i, shade_colors[i]);
  return css;
}

bool is_second_tone(std::string_view style_class) {
  if (style_class.size() < 2 || (style_class[0] != 's' && style_class[0] != 'f')) return false;
  const std::string_view digits = style_class.substr(1);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return false;
  return digits.size() > 1 || digits[0] >= static_cast<char>('0' + hue_count);
}

/// The second tones are described only where they are used, so that other pictures stay short.
std::size_t colors_used(const Scene& scene) {
  for (const Shape& shape : scene.shapes) {
    const std::string_view style =
        std::visit([](const auto& drawn) -> std::string_view { return drawn.style; }, shape);
    for (std::size_t from = 0; from < style.size();) {
      const std::size_t end = std::min(style.find(' ', from), style.size());
      if (is_second_tone(style.substr(from, end - from))) return palette_size;
      from = end + 1;
    }
  }
  return hue_count;
}

constexpr std::string_view shapes_css =
    "text{font-family:Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif}"
    ".bold{font-weight:bold}"
    ".middle{text-anchor:middle}.end{text-anchor:end}"
    ".halo{stroke-width:3px;stroke-linejoin:round;paint-order:stroke}"
    ".grid,.axis{stroke-width:1px;fill:none}"
    ".line{fill:none;stroke-width:1.8px;stroke-linejoin:round;stroke-linecap:round}"
    ".reference{fill:none;stroke-width:1.2px}"
    ".dashed{stroke-dasharray:6 4}.dotted{stroke-dasharray:1.5 3.5}"
    ".band{fill-opacity:0.14}.bar{stroke-width:0.6px}.marker{stroke-width:0.6px}"
    ".open{stroke-width:1.6px}";

/// Pixels with two decimals, without what is zero: "12.5", "3".
std::string px(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string hint_text(std::string_view hint) {
  return hint.empty() ? "/>\n" : fmt::format("><title>{}</title>", xml_text(hint));
}

std::string element_end(std::string_view hint, std::string_view element) {
  return hint.empty() ? "" : fmt::format("</{}>\n", element);
}

std::string path_of(const MarkerShape& shape) {
  const double x = shape.center.x, y = shape.center.y;
  const double r = marker_radius * shape.scale;
  const auto polygon = [&](std::initializer_list<Place> corners) {
    std::string path;
    for (const Place& corner : corners) {
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", px(x + corner.x), px(y + corner.y));
    }
    return path + "Z";
  };
  switch (shape.marker) {
    case Marker::square:
      return polygon(
          {{-0.9 * r, -0.9 * r}, {0.9 * r, -0.9 * r}, {0.9 * r, 0.9 * r}, {-0.9 * r, 0.9 * r}});
    case Marker::triangle: return polygon({{0, -1.2 * r}, {1.1 * r, 0.8 * r}, {-1.1 * r, 0.8 * r}});
    case Marker::inverted:
      return polygon({{0, 1.2 * r}, {1.1 * r, -0.8 * r}, {-1.1 * r, -0.8 * r}});
    case Marker::diamond:
      return polygon({{0, -1.3 * r}, {1.1 * r, 0}, {0, 1.3 * r}, {-1.1 * r, 0}});
    default: break;
  }
  return fmt::format("M{} {}L{} {}M{} {}L{} {}", px(x - r), px(y - r), px(x + r), px(y + r),
                     px(x - r), px(y + r), px(x + r), px(y - r));
}

std::string svg_of(const LineShape& shape) {
  std::string points;
  for (const Place& place : shape.places) {
    points += fmt::format("{}{},{}", points.empty() ? "" : " ", px(place.x), px(place.y));
  }
  return fmt::format("<polyline class=\"{}\" points=\"{}\"/>\n", shape.style, points);
}

/// Areas that touch end where the next begins: each edge is rounded, not its distance from the
/// other edge, which would leave a seam.
Rect without_seams(const RectShape& shape) {
  if (!shape.style.starts_with("area ") && !shape.style.starts_with("shade ")) return shape.rect;
  const auto rounded = [](double value) {
    const std::string text = px(value);
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  const Rect& rect = shape.rect;
  return {.x = rounded(rect.x),
          .y = rounded(rect.y),
          .width = rounded(rect.right()) - rounded(rect.x),
          .height = rounded(rect.bottom()) - rounded(rect.y)};
}

std::string svg_of(const RectShape& shape) {
  const Rect rect = without_seams(shape);
  return fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}{}",
                     shape.style, px(rect.x), px(rect.y), px(rect.width), px(rect.height),
                     hint_text(shape.hint), element_end(shape.hint, "rect"));
}

std::string svg_of(const MarkerShape& shape) {
  if (shape.marker == Marker::circle) {
    return fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"{}{}", shape.style,
                       px(shape.center.x), px(shape.center.y), px(marker_radius * shape.scale),
                       hint_text(shape.hint), element_end(shape.hint, "circle"));
  }
  return fmt::format("<path class=\"{}\" d=\"{}\"{}{}", shape.style, path_of(shape),
                     hint_text(shape.hint), element_end(shape.hint, "path"));
}

/// A whole ring is two halves: an arc that ends where it begins is none.
std::string path_of(const ArcShape& shape) {
  const auto at = [&](double turn, double radius) {
    const double angle = 2 * std::numbers::pi * turn;
    return fmt::format("{} {}", px(shape.center.x + radius * std::sin(angle)),
                       px(shape.center.y - radius * std::cos(angle)));
  };
  const double middle = (shape.from + shape.to) / 2;
  const auto arc = [&](double radius, double to, int is_clockwise) {
    return fmt::format("A{0} {0} 0 0 {1} {2}", px(radius), is_clockwise, at(to, radius));
  };
  return "M" + at(shape.from, shape.outer) + arc(shape.outer, middle, 1) +
         arc(shape.outer, shape.to, 1) + "L" + at(shape.to, shape.inner) +
         arc(shape.inner, middle, 0) + arc(shape.inner, shape.from, 0) + "Z";
}

std::string svg_of(const ArcShape& shape) {
  return fmt::format("<path class=\"{}\" d=\"{}\"{}{}", shape.style, path_of(shape),
                     hint_text(shape.hint), element_end(shape.hint, "path"));
}

std::string svg_of(const TextShape& shape) {
  const std::string_view anchor = shape.anchor == Anchor::start    ? ""
                                  : shape.anchor == Anchor::middle ? " middle"
                                                                   : " end";
  const std::string turn = shape.degrees == 0
                               ? ""
                               : fmt::format(" transform=\"rotate({} {} {})\"", px(shape.degrees),
                                             px(shape.place.x), px(shape.place.y));
  return fmt::format("<text class=\"{}{}{}\" x=\"{}\" y=\"{}\" font-size=\"{}\"{}>{}</text>\n",
                     shape.style, anchor, shape.weight == Weight::bold ? " bold" : "",
                     px(shape.place.x), px(shape.place.y), px(shape.size), turn,
                     xml_text(shape.text));
}

}  // namespace

std::string to_svg(const Scene& scene) {
  const std::string width = px(std::ceil(scene.width));
  const std::string height = px(std::ceil(scene.height));
  const auto on_paper = [&](const std::string& pixels, double extent) {
    if (!(scene.width_pt > 0)) return pixels;
    return px(std::ceil(extent) * scene.width_pt / std::ceil(scene.width)) + "pt";
  };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{2}\" "
      "height=\"{3}\" role=\"img\">\n<title>{4}</title>\n",
      width, height, on_paper(width, scene.width), on_paper(height, scene.height),
      xml_text(scene.title));
  if (!scene.description.empty()) {
    svg += fmt::format("<desc>{}</desc>\n", xml_text(scene.description));
  }
  const std::size_t colors = colors_used(scene);
  svg +=
      fmt::format("<style>{}{}{}@media(prefers-color-scheme:dark){{{}}}</style>\n", shapes_css,
                  areas_css(scene), colors_of(light_theme, colors), colors_of(dark_theme, colors));
  svg += fmt::format("<rect class=\"bg\" x=\"0\" y=\"0\" width=\"{}\" height=\"{}\"/>\n", width,
                     height);
  for (const Shape& shape : scene.shapes) {
    svg += std::visit([](const auto& drawn) { return svg_of(drawn); }, shape);
  }
  return svg + "</svg>\n";
}

}  // namespace strata::chart
