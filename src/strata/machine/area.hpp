// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// How much silicon an on-chip memory takes: a derived figure, so that a sweep over capacities can
/// be read as a sweep over area.
namespace strata {

/// A bit cell that a foundry published.
struct SramCell {
  std::string_view node;  ///< "5nm"
  double bit_um2 = 0;     ///< area of the six-transistor high-density cell
  std::string_view source;
};
std::span<const SramCell> sram_cells();

/// The cells alone: capacity × 8 × bit cell. Decoders, sense amplifiers and wires come on top;
/// sources speak of about 30 % for them, so this is the least the memory can take. Errors (usage)
/// list the nodes that are known.
double area_mm2(double capacity_bytes, std::string_view node);

/// The largest chip that one exposure makes is 26 mm × 33 mm = 858 mm²; products stay near 800
/// (GH100: 814, GA100: 826).
inline constexpr double reticle_mm2 = 800;

}  // namespace strata
