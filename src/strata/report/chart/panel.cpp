// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/panel.hpp"

#include "strata/report/chart/clip.hpp"
#include "strata/report/chart/labels.hpp"
#include "strata/report/chart/palette.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata::chart {
namespace {

constexpr double title_size = 13;
constexpr double axis_title_size = 11;
constexpr double tick_length = 4;
constexpr double category_tilt = -40;  // degrees, when names do not fit side by side
constexpr double tilted_pitch = 15;    // pixels from one tilted name to the next
constexpr double bar_share = 0.76;     // of the room of a category

class Panel {
 public:
  Panel(Scene& scene, const Chart& chart, const Rect& cell, const Rect& plot)
      : scene_(scene),
        chart_(chart),
        cell_(cell),
        plot_(plot),
        x_(scaled_x()),
        y_(scaled(chart.y, y_range(chart), plot.bottom(), plot.y, Orientation::along_y)),
        labels_(plot) {}

  void draw() {
    titles();
    draw_bands(/*is_solid=*/false);
    y_axis();
    x_axis();
    draw_bands(/*is_solid=*/true);
    bars();
    base_lines();
    for (const ReferenceLine& line : chart_.lines) draw_line(line);
    for (const Series& series : chart_.series) curve(series);
    for (const Series& series : chart_.series) markers(series);
    names();
  }

 private:
  ScaledAxis scaled_x() const {
    if (chart_.x.categories.empty()) {
      return scaled(chart_.x, x_range(chart_), plot_.x, plot_.right(), Orientation::along_x);
    }
    return {.scale = AxisScale(ScaleKind::linear, x_range(chart_), plot_.x, plot_.right()),
            .ticks = {},
            .title = chart_.x.title};
  }

  Place at(double x, double y) const { return {x_.scale.at(x), y_.scale.at(y)}; }
  void text(TextShape shape) { scene_.shapes.emplace_back(std::move(shape)); }
  void line(std::vector<Place> places, StyleClasses style) {
    scene_.shapes.emplace_back(LineShape{.places = std::move(places), .style = std::move(style)});
  }

  void titles() {
    double y = cell_.y;
    if (!chart_.title.empty()) {
      y += title_size;
      text({.text = fitted(chart_.title, title_size, Weight::bold, cell_.width),
            .place = {cell_.x, y},
            .size = title_size,
            .weight = Weight::bold});
      y += 5;
    }
    if (y_.title.empty()) return;
    text({.text = fitted(y_.title, axis_title_size, Weight::normal, cell_.width),
          .place = {cell_.x, y + axis_title_size},
          .size = axis_title_size,
          .style = "muted"});
  }

  void y_axis() {
    for (std::size_t i = 0; i < y_.ticks.values.size(); ++i) {
      const double y = y_.scale.at(y_.ticks.values[i]);
      line({{plot_.x, y}, {plot_.right(), y}}, "grid");
      text({.text = y_.ticks.labels[i],
            .place = {plot_.x - 7, y + 4},
            .size = tick_text_size,
            .anchor = Anchor::end,
            .style = "muted"});
    }
    for (const double value : y_.ticks.minor) {
      const double y = y_.scale.at(value);
      line({{plot_.x - 2, y}, {plot_.x, y}}, "axis");
    }
    if (chart_.y.scale == ScaleKind::logarithmic) {
      line({{plot_.x, plot_.y}, {plot_.x, plot_.bottom()}}, "axis");
    }
  }

  void x_axis() {
    const double bottom = plot_.bottom();
    for (std::size_t i = 0; i < x_.ticks.values.size(); ++i) {
      const double x = x_.scale.at(x_.ticks.values[i]);
      if (chart_.x.scale == ScaleKind::logarithmic) line({{x, plot_.y}, {x, bottom}}, "grid");
      line({{x, bottom}, {x, bottom + tick_length}}, "axis");
      if (chart_.x.has_labels) text(x_label(x_.ticks.labels[i], x));
    }
    for (const double value : x_.ticks.minor) {
      const double x = x_.scale.at(value);
      line({{x, bottom}, {x, bottom + 2}}, "axis");
    }
    if (!chart_.x.has_labels) return;
    categories();
    if (x_.title.empty()) return;
    text({.text = fitted(x_.title, axis_title_size, Weight::normal, plot_.width),
          .place = {plot_.x + plot_.width / 2, cell_.bottom() - 3},
          .size = axis_title_size,
          .anchor = Anchor::middle,
          .style = "muted"});
  }

  /// Above the bars that stand on them: the edge of the plot, and 0 where values lie below it.
  void base_lines() {
    line({{plot_.x, plot_.bottom()}, {plot_.right(), plot_.bottom()}}, "axis");
    const Range& range = y_.scale.range();
    if (chart_.y.scale == ScaleKind::linear && range.least < 0 && range.most >= 0) {
      line({{plot_.x, y_.scale.at(0)}, {plot_.right(), y_.scale.at(0)}}, "axis");
    }
  }

  TextShape x_label(const std::string& label, double x) const {
    // What would leave the panel at its right edge moves in.
    const double half = text_width(label, tick_text_size) / 2;
    return {.text = label,
            .place = {std::min(x, cell_.right() - half), plot_.bottom() + 17},
            .size = tick_text_size,
            .anchor = Anchor::middle,
            .style = "muted"};
  }

  void categories();
  void bars();
  void bar(std::size_t category, const Bars& bars, double from, double to, double left,
           double width);

  /// Solid ones are data and lie above the grid.
  void draw_bands(bool is_solid) {
    for (const Band& band : chart_.bands) {
      if (band.is_solid == is_solid) draw_band(band);
    }
  }

  void draw_band(const Band& band) {
    const auto edge = [](const std::optional<double>& value, const AxisScale& scale,
                         double otherwise) { return value ? scale.at(*value) : otherwise; };
    const double x1 = std::clamp(edge(band.x_from, x_.scale, plot_.x), plot_.x, plot_.right());
    const double x2 = std::clamp(edge(band.x_to, x_.scale, plot_.right()), plot_.x, plot_.right());
    const double y1 = std::clamp(edge(band.y_to, y_.scale, plot_.y), plot_.y, plot_.bottom());
    const double y2 =
        std::clamp(edge(band.y_from, y_.scale, plot_.bottom()), plot_.y, plot_.bottom());
    const Rect rect{std::min(x1, x2), std::min(y1, y2), std::fabs(x2 - x1), std::fabs(y2 - y1)};
    if (band.is_solid && (rect.width == 0 || rect.height == 0)) return;
    scene_.shapes.emplace_back(
        RectShape{.rect = rect, .style = band_style(band), .hint = band.label});
    name_on_band(band, rect);
    if (!band.label.empty() && !band.is_solid) wishes_.push_back(places_in(rect, band.label));
  }

  void name_on_band(const Band& band, const Rect& rect) {
    constexpr double size = 8;
    if (band.name.empty() || !band.is_solid || rect.height < size) return;
    if (text_width(band.name, size) > rect.width) return;
    text({.text = band.name,
          .place = {rect.x + rect.width / 2, rect.y + rect.height / 2 + size / 3},
          .size = size,
          .anchor = Anchor::middle,
          .style = "text halo"});
  }

  /// Its two ends as numbers: enough to draw it, as it is straight on every axis it is used with.
  std::vector<Place> course_of(const ReferenceLine& line) const {
    const bool is_vertical = line.direction == Direction::vertical;
    const Range& range = (is_vertical ? y_ : x_).scale.range();
    const double from = line.from.value_or(range.least);
    const double to = line.to.value_or(range.most);
    switch (line.direction) {
      case Direction::horizontal: return {at(from, line.at), at(to, line.at)};
      case Direction::vertical: return {at(line.at, from), at(line.at, to)};
      case Direction::diagonal: break;
    }
    return {at(from, line.at * from), at(to, line.at * to)};
  }

  void draw_line(const ReferenceLine& reference) {
    const StyleClasses color = reference.color ? stroke_class(*reference.color) : "plain";
    const StyleClasses dash = reference.stroke == Stroke::dashed   ? " dashed"
                              : reference.stroke == Stroke::dotted ? " dotted"
                                                                   : "";
    for (std::vector<Place>& piece : clipped(course_of(reference), plot_)) {
      if (!reference.label.empty()) {
        wishes_.push_back(places_along(piece.front(), piece.back(), reference.label));
      }
      labels_.avoid(piece);
      line(std::move(piece), "reference " + color + dash);
    }
  }

  void curve(const Series& series) {
    if (series.stroke == Stroke::none) return;
    std::vector<Place> places;
    for (const Point& point : series.points) places.push_back(at(point.x, point.y));
    for (std::vector<Place>& piece : clipped(places, plot_)) {
      labels_.avoid(piece);
      line(std::move(piece), line_style(series));
    }
  }

  void markers(const Series& series) {
    for (const Point& point : series.points) {
      const Place center = at(point.x, point.y);
      if (!x_.scale.holds(point.x) || !y_.scale.holds(point.y)) continue;
      if (!point.label.empty()) wishes_.push_back(places_around(center, point.label));
      if (series.marker == Marker::none) continue;
      avoid_marker(center);
      const std::string& name = !point.hint.empty()    ? point.hint
                                : !point.label.empty() ? point.label
                                                       : series.name;
      scene_.shapes.emplace_back(
          MarkerShape{.center = center,
                      .marker = series.marker,
                      .style = marker_style(series),
                      .hint = fmt::format("{}{}{}, {}", name, name.empty() ? "" : ": ",
                                          label_of(point.x, chart_.x.quantity, 3),
                                          label_of(point.y, chart_.y.quantity, 3)),
                      .scale = series.marker_scale});
    }
  }

  void avoid_marker(Place center) {
    labels_.avoid(center);
    for (const double side : {-marker_radius, marker_radius}) {
      labels_.avoid(Place{center.x + side, center.y});
      labels_.avoid(Place{center.x, center.y + side});
    }
  }

  /// Names come when all data is known, so that they can keep clear of it.
  void names() {
    for (const std::vector<TextShape>& candidates : wishes_) labels_.place(candidates, scene_);
  }

  Scene& scene_;
  const Chart& chart_;
  const Rect& cell_;
  const Rect& plot_;
  ScaledAxis x_;
  ScaledAxis y_;
  LabelPlacer labels_;
  std::vector<std::vector<TextShape>> wishes_;
};

double category_width(const Chart& chart, double plot_width) {
  return plot_width / static_cast<double>(chart.x.categories.size());
}

bool must_tilt(const Chart& chart, double plot_width) {
  return std::any_of(
      chart.x.categories.begin(), chart.x.categories.end(), [&](const std::string& name) {
        return text_width(name, tick_text_size) + 6 > category_width(chart, plot_width);
      });
}

/// A name below the foot of its category.
TextShape tilted_name(const std::string& name, Place foot) {
  return {.text = name,
          .place = {foot.x + 4, foot.y + 14},
          .size = tick_text_size,
          .anchor = Anchor::end,
          .degrees = category_tilt,
          .style = "muted"};
}

void Panel::categories() {
  const bool is_tilted = must_tilt(chart_, plot_.width);
  // Tilted names need the height of a line between them; of more, every second, third … stands.
  const double room = category_width(chart_, plot_.width);
  const auto step = static_cast<std::size_t>(is_tilted ? std::ceil(tilted_pitch / room) : 1);
  for (std::size_t i = 0; i < chart_.x.categories.size(); i += std::max<std::size_t>(1, step)) {
    const double x = x_.scale.at(static_cast<double>(i));
    TextShape label = x_label(chart_.x.categories[i], x);
    text(is_tilted ? tilted_name(chart_.x.categories[i], {x, plot_.bottom()}) : std::move(label));
  }
}

void Panel::bars() {
  if (chart_.bars.empty()) return;
  const double room = category_width(chart_, plot_.width) * bar_share;
  for (std::size_t i = 0; i < chart_.x.categories.size(); ++i) {
    const double left = x_.scale.at(static_cast<double>(i)) - room / 2;
    double above = 0;
    double below = 0;
    for (std::size_t k = 0; k < chart_.bars.size(); ++k) {
      const double value = chart_.bars[k].values[i];
      if (chart_.bar_layout == BarLayout::stacked) {
        double& foot = value > 0 ? above : below;
        bar(i, chart_.bars[k], foot, foot + value, left, room);
        foot += value;
      } else {
        const double width = room / static_cast<double>(chart_.bars.size());
        bar(i, chart_.bars[k], 0, value, left + width * static_cast<double>(k) + 0.5, width - 1);
      }
    }
  }
}

void Panel::bar(std::size_t category, const Bars& bars, double from, double to, double left,
                double width) {
  const auto pixel = [&](double value) {
    return std::clamp(y_.scale.at(value), plot_.y, plot_.bottom());
  };
  const Rect rect{left, std::min(pixel(from), pixel(to)), std::max(width, 0.5),
                  std::fabs(pixel(to) - pixel(from))};
  if (rect.height == 0) return;
  labels_.avoid({{left, rect.y}, {left + width, rect.y}});
  scene_.shapes.emplace_back(
      RectShape{.rect = rect,
                .style = "bar " + fill_class(bars.color),
                .hint = fmt::format("{}, {}: {}", bars.name, chart_.x.categories[category],
                                    label_of(to - from, chart_.y.quantity, 3))});
}

}  // namespace

double left_room(const Chart& chart, double plot_height) {
  if (!chart.ring.slices.empty()) return 0;
  const ScaledAxis y = scaled(chart.y, y_range(chart), plot_height, 0, Orientation::along_y);
  double widest = 0;
  for (const std::string& label : y.ticks.labels) {
    widest = std::max(widest, text_width(label, tick_text_size));
  }
  return widest + 8;
}

double top_room(const Chart& chart) {
  return (chart.title.empty() ? 0 : title_size + 5) + axis_title_size + 12;
}

double left_overhang(const Chart& chart, double plot_width) {
  double most = 0;
  if (!chart.x.has_labels || chart.x.categories.empty() || !must_tilt(chart, plot_width)) return 0;
  for (std::size_t i = 0; i < chart.x.categories.size(); ++i) {
    const double at = (static_cast<double>(i) + 0.5) * category_width(chart, plot_width);
    for (const Place& corner : corners_of(tilted_name(chart.x.categories[i], {at, 0})))
      most = std::max(most, -corner.x);
  }
  return most;
}

double bottom_room(const Chart& chart, double plot_width) {
  if (!chart.x.has_labels || !chart.ring.slices.empty()) return 8;
  double room = 22;
  if (!chart.x.categories.empty() && must_tilt(chart, plot_width)) {
    for (const std::string& name : chart.x.categories) {
      for (const Place& corner : corners_of(tilted_name(name, {0, 0})))
        room = std::max(room, corner.y + 2);
    }
  }
  return room + (chart.x.title.empty() ? 0 : axis_title_size + 7);
}

void draw_panel(Scene& scene, const Chart& chart, const Rect& cell, const Rect& plot) {
  if (!chart.ring.slices.empty()) return draw_ring(scene, chart, cell, plot);
  Panel(scene, chart, cell, plot).draw();
}

std::string stroke_class(Color color) { return fmt::format("s{}", color % palette_size); }
std::string fill_class(Color color) { return fmt::format("f{}", color % palette_size); }

std::string shade_class(double shade) {
  const auto last = static_cast<double>(shade_count - 1);
  return fmt::format("h{}", std::lround(std::clamp(shade, 0.0, 1.0) * last));
}

StyleClasses band_style(const Band& band) {
  if (band.shade) return "shade " + shade_class(*band.shade);
  const std::string color = band.color ? fill_class(*band.color) : "grey";
  return (band.is_solid ? "area " : "band ") + color;
}

StyleClasses line_style(const Series& series) {
  return "line " + stroke_class(series.color) +
         (series.stroke == Stroke::dashed   ? " dashed"
          : series.stroke == Stroke::dotted ? " dotted"
                                            : "");
}

StyleClasses marker_style(const Series& series) {
  if (series.marker == Marker::cross) return "open " + stroke_class(series.color);
  return series.is_filled ? "marker " + fill_class(series.color)
                          : "open " + stroke_class(series.color);
}

}  // namespace strata::chart
