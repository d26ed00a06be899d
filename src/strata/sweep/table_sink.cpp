// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/table_sink.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

namespace strata {
namespace {

// About 25 columns of 8 bytes: 4 GB.
constexpr std::int64_t most_points_in_memory = 20'000'000;

}  // namespace

TableSink::TableSink(const SweepColumns& columns, const SweepIdentity& identity)
    : columns_(columns) {
  if (identity.points > most_points_in_memory) {
    fail(ErrorKind::usage,
         "{} points are too many to be looked at together (at most {}); write them "
         "to a file and ask of a part of it",
         format_exact(identity.points), format_exact(most_points_in_memory));
  }
  table_.identity = identity.hash;
  for (const ColumnHead& head : columns.heads()) {
    table_.columns.push_back({.name = head.name,
                              .is_number = head.kind != SweepCellKind::text,
                              .is_axis = head.is_axis});
  }
}

void TableSink::write(std::int64_t first, std::span<const PointResult> results) {
  for (const PointResult& result : results) {
    const std::int64_t point = first++;
    if (result.is_left_out) continue;
    columns_.fill(cells_, point, result);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      SweepColumn& column = table_.columns[i];
      const SweepCell& cell = cells_[i];
      if (!column.is_number) {
        column.texts.push_back(cell.is_empty ? std::string() : cell.text);
      } else if (cell.is_empty) {
        column.numbers.push_back(no_number);
      } else {
        column.numbers.push_back(cell.kind == SweepCellKind::whole ? static_cast<double>(cell.whole)
                                                                   : cell.real);
      }
    }
    ++table_.row_count;
  }
}

}  // namespace strata
