// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/table.hpp"

#include <filesystem>
#include <istream>

/// One reader per form in which results are written.
namespace strata {

SweepTable read_csv_table(std::istream& lines);
SweepTable read_json_lines_table(std::istream& lines);
/// Errors (environment) in a build without SQLite.
SweepTable read_database_table(const std::filesystem::path& path);

/// Longer than any row that was written by a sweep.
inline constexpr std::size_t longest_row_bytes = std::size_t{1} << 20;
inline constexpr std::size_t most_cells = std::size_t{1} << 29;

}  // namespace strata
