// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/sink.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// Rows as lines of text. Numbers have as many digits as bring back the same number.
namespace strata {

/// Where a file says which sweep its rows are of. JSON lines have an object as their first line. In
/// CSV it is the name of a last column without cells, so that every reader of CSV reads the file as
/// it is. Earlier versions wrote a first line that began with '#'; such files are resumed as they
/// are.
enum class IdentityPlace : std::uint8_t { none, last_column, first_line };
/// How the name of that column begins.
inline constexpr std::string_view identity_column = "strata_sweep ";

/// What stands before the first row: the names of the columns, except in JSON lines, which repeat
/// them in every line; and the identity.
std::string head_text(TextForm form, const SweepColumns& columns, const SweepIdentity& identity,
                      IdentityPlace place);
void append_row(std::string& text, TextForm form, const SweepColumns& columns,
                const std::vector<SweepCell>& cells, IdentityPlace place);
/// What every row of this point begins with.
std::string row_begin(TextForm form, std::int64_t point);

}  // namespace strata
