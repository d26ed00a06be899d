// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/area.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace strata {

std::span<const SramCell> sram_cells() {
  static constexpr SramCell cells[] = {
      {"16nm", 0.074,
       "TSMC 16FF high-density cell, WikiChip '16 nm lithography process'; the 128 Mb test chip of "
       "ISSCC 2014 has 0.070"},
      {"5nm", 0.021, "TSMC N5 high-density cell, WikiChip Fuse on IEDM 2019; N3E has the same"},
  };
  return cells;
}

double area_mm2(double capacity_bytes, std::string_view node) {
  std::vector<std::string_view> known;
  for (const SramCell& cell : sram_cells()) {
    if (cell.node == node) return capacity_bytes * 8 * cell.bit_um2 * 1e-6;
    known.push_back(cell.node);
  }
  fail(ErrorKind::usage, "no bit cell known for '{}'; known: {}", node, fmt::join(known, ", "));
}

}  // namespace strata
