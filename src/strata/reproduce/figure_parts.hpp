// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/chart.hpp"
#include "strata/reproduce/thesis_sweep.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the figures of the thesis have in common: a panel per network, curves over capacity.
namespace strata {

inline constexpr std::string_view base_rates = "13.45 TFLOP/s, 616 GB/s";

inline constexpr double bytes_of_mib(std::int64_t mib) { return static_cast<double>(mib << 20); }

inline chart::Axis capacity_axis() {
  return {.title = "on-chip capacity", .quantity = chart::Quantity::capacity, .least = 0.0};
}

/// One panel per network.
template <class MakePanel>
std::vector<chart::Chart> panels_of(const std::vector<NetworkResults>& results,
                                    const MakePanel& make_panel) {
  std::vector<chart::Chart> panels;
  for (const NetworkResults& network : results) {
    panels.push_back(make_panel(network));
    if (panels.back().title.empty()) panels.back().title = network.network.title;
  }
  return panels;
}

/// A curve over the capacities of a network.
template <class Rows, class ToNumber>
chart::Series curve(std::string name, const Rows& rows, const ToNumber& to_number) {
  chart::Series series{.name = std::move(name)};
  for (const auto& row : rows)
    series.points.push_back({bytes_of_mib(row.capacity_mib), to_number(row)});
  return series;
}

inline chart::Series in_color(chart::Series series, chart::Color color,
                              chart::Stroke stroke = chart::Stroke::solid) {
  series.color = color;
  series.stroke = stroke;
  return series;
}

}  // namespace strata
