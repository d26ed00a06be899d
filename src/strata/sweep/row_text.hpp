// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/sink.hpp"

#include <string>

/// Rows as lines of text. Numbers have as many digits as bring back the same number.
namespace strata {

/// Which sweep the lines below are of, as the first line of a file.
std::string identity_line(TextForm form, const SweepColumns& columns,
                          const SweepIdentity& identity);
/// The names of the columns; empty for JSON lines, which repeat them in every line.
std::string heading_line(TextForm form, const SweepColumns& columns);
void append_row(std::string& text, TextForm form, const SweepColumns& columns,
                const std::vector<SweepCell>& cells);
/// What every row of this point begins with.
std::string row_begin(TextForm form, std::int64_t point);

/// A CSV cell: quotes around what holds a separator, quotes inside doubled, one line.
void append_csv_text(std::string& text, std::string_view cell);

}  // namespace strata
