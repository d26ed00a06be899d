// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/text_style.hpp"
#include "strata/sweep/table.hpp"

#include <string>
#include <string_view>

namespace strata {

/// The answer of a sweep on one screen: the fastest and the slowest point of each network, the best
/// of each machine, and what capacity buys.
std::string to_text(const SweepTable& table, const TextStyle& style);

/// A cell as people read it: "128 MiB", "616 GB/s", "bf16"; by the unit in the column's name.
std::string readable_cell(const SweepColumn& column, std::size_t row);
/// A number of the column of that name.
std::string readable_number(std::string_view column, double number);
/// A heading for such cells: the name without the unit that they carry.
std::string readable_heading(std::string_view column);

}  // namespace strata
