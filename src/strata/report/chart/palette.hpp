// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/chart.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The colours of figures. The page has the same in web/src/palette.json; a test compares the two.
namespace strata::chart {

inline constexpr std::size_t hue_count = 8;
/// Each hue has a second tone, for kinds beyond the eighth.
inline constexpr std::size_t palette_size = 2 * hue_count;
inline constexpr std::size_t shade_count = 16;

using Palette = std::array<std::string_view, palette_size>;
extern const Palette light_palette;
extern const Palette dark_palette;

/// Of maps, from little (dark) to much (light).
extern const std::array<std::string_view, shade_count> shade_colors;

/// Kinds of layers, kernels, bounds and strategies that have the same colour wherever they appear.
std::span<const std::pair<std::string_view, Color>> known_kinds();

/// A colour for each name: its own where it has one and no name before it took that, else the first
/// that is free. The page does the same.
std::vector<Color> colors_of_kinds(std::span<const std::string> names);

}  // namespace strata::chart
