// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/labels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace strata::chart {
namespace {

constexpr double label_size = 11;
constexpr double gap = 5;          // pixels between a line and its name
constexpr double half_ascent = 4;  // puts digits beside a point at its height
constexpr double sampling = 4;     // pixels
constexpr double ascent_size = 9;  // of the label's letters

bool holds(const Corners& corners, Place place) {
  // Inside when it is on the same side of all four edges.
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Place from = corners[i];
    const Place to = corners[(i + 1) % corners.size()];
    if ((to.x - from.x) * (place.y - from.y) - (to.y - from.y) * (place.x - from.x) < 0) {
      return false;
    }
  }
  return true;
}

TextShape label(const std::string& text, Place place, Anchor anchor, double degrees = 0) {
  return {.text = text,
          .place = place,
          .size = label_size,
          .anchor = anchor,
          .degrees = degrees,
          .style = "muted halo"};
}

}  // namespace

void LabelPlacer::avoid(const std::vector<Place>& line) {
  for (std::size_t i = 1; i < line.size(); ++i) {
    const double length = std::hypot(line[i].x - line[i - 1].x, line[i].y - line[i - 1].y);
    const double pieces = std::max(1.0, std::ceil(length / sampling));
    for (double piece = 0; piece < pieces; ++piece) {
      const double part = piece / pieces;
      marks_.push_back({line[i - 1].x + part * (line[i].x - line[i - 1].x),
                        line[i - 1].y + part * (line[i].y - line[i - 1].y)});
    }
  }
  if (!line.empty()) marks_.push_back(line.back());
}

std::size_t LabelPlacer::covered_by(const Corners& corners) const {
  // A line is seen on both sides of a label; a symbol under one is lost.
  constexpr std::size_t symbol_weight = 50;
  const auto covered = [&](const std::vector<Place>& places) {
    return static_cast<std::size_t>(std::count_if(
        places.begin(), places.end(), [&](const Place& place) { return holds(corners, place); }));
  };
  return covered(marks_) + symbol_weight * covered(symbols_);
}

void LabelPlacer::place(const std::vector<TextShape>& candidates, Scene& scene) {
  const TextShape* best = nullptr;
  std::size_t least_covered = std::numeric_limits<std::size_t>::max();
  for (const TextShape& candidate : candidates) {
    const Corners corners = corners_of(candidate);
    const bool is_free = inside(corners, plot_) &&
                         std::none_of(taken_.begin(), taken_.end(), [&](const Corners& other) {
                           return overlap(corners, other);
                         });
    if (!is_free) continue;
    const std::size_t covered = covered_by(corners);
    if (covered >= least_covered) continue;
    best = &candidate;
    least_covered = covered;
  }
  if (best == nullptr) return;
  taken_.push_back(corners_of(*best));
  scene.shapes.push_back(*best);
}

std::vector<TextShape> places_along(Place from, Place to, const std::string& text) {
  if (to.x < from.x) std::swap(from, to);
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  if (length == 0) return {};
  const Place along{(to.x - from.x) / length, (to.y - from.y) / length};
  const bool is_vertical = std::fabs(along.x) < 1e-6;
  std::vector<TextShape> places;
  if (is_vertical) {  // upright beside it reads better than turned
    const double top = std::min(from.y, to.y);
    for (const double part : {0.0, 0.2, 0.4, 0.6, 0.8}) {
      const double y = top + part * length + ascent_size + gap;
      places.push_back(label(text, {from.x + gap, y}, Anchor::start));
      places.push_back(label(text, {from.x - gap, y}, Anchor::end));
    }
    return places;
  }
  const double degrees = std::atan2(along.y, along.x) * 180 / std::numbers::pi;
  struct Spot {
    double part;
    Anchor anchor;
  };
  for (const auto& [part, anchor] :
       {Spot{1, Anchor::end}, Spot{0, Anchor::start}, Spot{0.5, Anchor::middle},
        Spot{0.25, Anchor::middle}, Spot{0.75, Anchor::middle}, Spot{0.35, Anchor::middle},
        Spot{0.65, Anchor::middle}}) {
    const double inset = anchor == Anchor::end ? -gap : anchor == Anchor::start ? gap : 0;
    const Place on_line{from.x + part * (to.x - from.x) + inset * along.x,
                        from.y + part * (to.y - from.y) + inset * along.y};
    for (const double across : {-gap, gap + ascent_size, -2 * gap}) {  // above, below, well above
      const Place beside{on_line.x - across * along.y, on_line.y + across * along.x};
      places.push_back(label(text, beside, anchor, degrees));
    }
  }
  return places;
}

std::vector<TextShape> places_around(Place center, const std::string& text) {
  const double away = marker_radius + 4;
  const double up = center.y - away;
  const double down = center.y + away + ascent_size - 1;
  return {label(text, {center.x + away, center.y + half_ascent}, Anchor::start),
          label(text, {center.x - away, center.y + half_ascent}, Anchor::end),
          label(text, {center.x, up}, Anchor::middle),
          label(text, {center.x, down}, Anchor::middle),
          label(text, {center.x + away, up}, Anchor::start),
          label(text, {center.x - away, up}, Anchor::end),
          label(text, {center.x + away, down}, Anchor::start),
          label(text, {center.x - away, down}, Anchor::end)};
}

std::vector<TextShape> places_in(const Rect& rect, const std::string& text) {
  const double top = rect.y + ascent_size + gap;
  const double bottom = rect.bottom() - gap;
  return {label(text, {rect.x + gap, top}, Anchor::start),
          label(text, {rect.right() - gap, top}, Anchor::end),
          label(text, {rect.x + gap, bottom}, Anchor::start),
          label(text, {rect.right() - gap, bottom}, Anchor::end),
          label(text, {rect.x + rect.width / 2, rect.y + rect.height / 2}, Anchor::middle),
          label(text, {rect.x + gap, rect.y - gap}, Anchor::start),  // outside, at its edges
          label(text, {rect.right() - gap, rect.y - gap}, Anchor::end),
          label(text, {rect.right() + gap, bottom}, Anchor::start)};
}

}  // namespace strata::chart
