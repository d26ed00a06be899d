// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/report/chart/panel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace strata::chart {
namespace {

constexpr double ring_title_size = 13;
constexpr double share_size = 11;
constexpr double middle_size = 15;
constexpr double share_room = 24;              // above and below the ring, for the shares
constexpr double side_room = 42;               // beside it: they are wider than high
constexpr double inner_share = 0.6;            // of the outer radius
constexpr double least_labelled_share = 0.03;  // smaller slices have no room for their share

void add_text(Scene& scene, std::string text, Place place, double size, Weight weight,
              StyleClasses style = "text") {
  scene.shapes.emplace_back(TextShape{.text = std::move(text),
                                      .place = place,
                                      .size = size,
                                      .anchor = Anchor::middle,
                                      .weight = weight,
                                      .style = std::move(style)});
}

double whole_of(const Ring& ring) {
  double whole = 0;
  for (const Slice& slice : ring.slices) whole += slice.value;
  return whole;
}

}  // namespace

void check_ring(const Chart& chart) {
  if (chart.ring.slices.empty()) return;
  for (const Slice& slice : chart.ring.slices) {
    if (!std::isfinite(slice.value) || slice.value < 0)
      fail(ErrorKind::input, "chart '{}': '{}' is {}, which is no part of a ring", chart.title,
           slice.name, slice.value);
  }
  const double whole = whole_of(chart.ring);
  if (!(whole > 0) || !std::isfinite(whole))
    fail(ErrorKind::input, "chart '{}': nothing to draw in the ring", chart.title);
  if (!chart.series.empty() || !chart.bars.empty() || !chart.bands.empty() || !chart.lines.empty())
    fail(ErrorKind::input, "chart '{}': a ring has no axes for what else is there", chart.title);
}

void draw_ring(Scene& scene, const Chart& chart, const Rect& cell, const Rect& plot) {
  if (!chart.title.empty()) {
    scene.shapes.emplace_back(
        TextShape{.text = fitted(chart.title, ring_title_size, Weight::bold, cell.width),
                  .place = {cell.x, cell.y + ring_title_size},
                  .size = ring_title_size,
                  .weight = Weight::bold});
  }
  const double outer = std::min(plot.width / 2 - side_room, plot.height / 2 - share_room);
  const Place center{plot.x + plot.width / 2, plot.y + plot.height / 2};
  const double whole = whole_of(chart.ring);
  double from = 0;
  for (const Slice& slice : chart.ring.slices) {
    const double share = slice.value / whole;
    if (!(share > 0)) continue;
    scene.shapes.emplace_back(ArcShape{.center = center,
                                       .inner = inner_share * outer,
                                       .outer = outer,
                                       .from = from,
                                       .to = from + share,
                                       .style = "bar " + fill_class(slice.color),
                                       .hint = slice.hint});
    if (share >= least_labelled_share) {
      const double angle = 2 * std::numbers::pi * (from + share / 2);
      add_text(scene, fmt::format("{:.0f} %", 100 * share),
               {center.x + (outer + side_room / 2) * std::sin(angle),
                center.y - (outer + share_room / 2) * std::cos(angle) + share_size / 3},
               share_size, Weight::normal, "muted");
    }
    from += share;
  }
  const double room = 2 * inner_share * outer * 0.9;
  add_text(scene, fitted(chart.ring.middle, middle_size, Weight::bold, room), center, middle_size,
           Weight::bold);
  if (!chart.ring.below.empty()) {
    add_text(scene, fitted(chart.ring.below, share_size, Weight::normal, room),
             {center.x, center.y + share_size + 5}, share_size, Weight::normal, "muted");
  }
}

}  // namespace strata::chart
