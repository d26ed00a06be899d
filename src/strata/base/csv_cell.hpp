// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Cells of text in CSV files (RFC 4180), which spreadsheets open and which Strata reads again.
/// - A text that a spreadsheet would take for a formula (= + - @ at its beginning) gets an
///   apostrophe in front. A number, also a negative one, stays a number.
/// - What must not be shown is escaped (printable.hpp), so a row is one line.
/// - Quotes stand around what holds a separator; quotes inside are doubled.
namespace strata {

std::string csv_cell(std::string_view text);

/// The cells of one line, as they stand between separators and without their quotes. Errors
/// (input): a quote without its end.
std::vector<std::string> csv_cells(std::string_view line);

/// The text that csv_cell() made such a cell of.
std::string csv_text(std::string_view cell);

}  // namespace strata
