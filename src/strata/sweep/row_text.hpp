// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/sink.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Rows as lines of text. Numbers have as many digits as bring back the same number.
namespace strata {

/// Where a file says which sweep its rows are of. JSON lines have an object as their first line. In
/// CSV it is a last column whose cells are all the same, so that every name in the heading is that
/// of a column. Earlier versions wrote the name of a last column without cells, or a first line
/// that began with '#'; such files are resumed as they are.
enum class IdentityPlace : std::uint8_t { none, cells, last_column, first_line };
/// The name of that column, and how the name of earlier versions begins.
inline constexpr std::string_view identity_column = "strata_sweep";

/// What a cell of that column says: "4b13b3d9aac51f1e/0.1.0/7", the last being how many axes there
/// are.
std::string identity_cell(const SweepColumns& columns, const SweepIdentity& identity);
struct ReadIdentity {
  std::string hash;
  std::size_t axes = 0;
};
/// Nothing: the cell is none of ours.
std::optional<ReadIdentity> read_identity_cell(std::string_view cell);

/// What stands before the first row: the names of the columns, except in JSON lines, which repeat
/// them in every line; and the identity.
std::string head_text(TextForm form, const SweepColumns& columns, const SweepIdentity& identity,
                      IdentityPlace place);
/// `end` is what a row of CSV ends with.
void append_row(std::string& text, TextForm form, const SweepColumns& columns,
                const std::vector<SweepCell>& cells, std::string_view end);
/// The end of every row of CSV: of its identity, where that has a column.
std::string row_end(const SweepColumns& columns, const SweepIdentity& identity,
                    IdentityPlace place);
/// What every row of this point begins with.
std::string row_begin(TextForm form, std::int64_t point);

}  // namespace strata
