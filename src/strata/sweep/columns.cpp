// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/columns.hpp"

#include "strata/machine/area.hpp"

#include <algorithm>
#include <iterator>

namespace strata {
namespace {

struct ResultColumn {
  std::string_view name;
  SweepCellKind kind;
  double (*value)(const PointResult& result);
};

double per_time(double amount, const PointResult& result) {
  return result.totals.time_s > 0 ? amount / result.totals.time_s : 0;
}

double real(std::int64_t whole) { return static_cast<double>(whole); }

// What the hardware came to; a column only where no axis has the same name.
constexpr ResultColumn facts[] = {
    {"capacity_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return real(of.hardware.capacity_bytes); }},
    {"bandwidth_bytes_per_s", SweepCellKind::real,
     [](const PointResult& of) { return of.hardware.bytes_per_s; }},
    {"throughput_flop_per_s", SweepCellKind::real,
     [](const PointResult& of) { return of.hardware.type_1_flop_per_s; }},
};

// Whole numbers below 2^53 pass through a double unchanged; no iteration moves 9 PB.
constexpr ResultColumn results[] = {
    {"samples", SweepCellKind::whole, [](const PointResult& of) { return real(of.samples); }},
    {"time_s", SweepCellKind::real, [](const PointResult& of) { return of.totals.time_s; }},
    {"compute_time_s", SweepCellKind::real,
     [](const PointResult& of) { return of.totals.compute_s; }},
    {"stall_time_s", SweepCellKind::real, [](const PointResult& of) { return of.totals.stall_s; }},
    {"traffic_in_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return real(of.totals.in_bytes); }},
    {"traffic_out_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return real(of.totals.out_bytes); }},
    {"refetch_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return real(of.totals.refetch_bytes); }},
    {"average_bandwidth_bytes_per_s", SweepCellKind::real,
     [](const PointResult& of) {
       return per_time(real(of.totals.in_bytes + of.totals.out_bytes), of);
     }},
    {"utilisation", SweepCellKind::real,
     [](const PointResult& of) { return per_time(of.totals.compute_s, of); }},
    {"samples_per_s", SweepCellKind::real,
     [](const PointResult& of) { return per_time(real(of.samples), of); }},
    {"peak_occupied_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return real(of.totals.peak_occupied_bytes); }},
    {"footprint_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return real(of.footprint_bytes); }},
    {"area_mm2", SweepCellKind::real,
     [](const PointResult& of) { return area_mm2(real(of.hardware.capacity_bytes), area_node); }},
    {"area_16nm_mm2", SweepCellKind::real,
     [](const PointResult& of) {
       return area_mm2(real(of.hardware.capacity_bytes), old_area_node);
     }},
};

SweepCellKind cell_kind_of(AxisKind kind) {
  if (kind == AxisKind::text) return SweepCellKind::text;
  return is_whole(kind) ? SweepCellKind::whole : SweepCellKind::real;
}

void fill_number(SweepCell& cell, SweepCellKind kind, double value) {
  cell.kind = kind;
  cell.is_empty = false;
  cell.real = value;
  cell.whole = kind == SweepCellKind::whole ? static_cast<std::int64_t>(value) : 0;
}

}  // namespace

SweepColumns::SweepColumns(const Grid& grid) : grid_(grid) {
  heads_.push_back({"point", SweepCellKind::whole, false});
  for (const Axis& axis : grid.axes())
    heads_.push_back({axis.column(), cell_kind_of(axis.kind()), true});
  for (std::size_t i = 0; i < std::size(facts); ++i) {
    const bool is_axis = std::any_of(heads_.begin(), heads_.end(), [&](const ColumnHead& head) {
      return head.name == facts[i].name;
    });
    if (is_axis) continue;
    facts_.push_back(i);
    heads_.push_back({std::string(facts[i].name), facts[i].kind, false});
  }
  for (const ResultColumn& column : results)
    heads_.push_back({std::string(column.name), column.kind, false});
  heads_.push_back({"error", SweepCellKind::text, false});
}

void SweepColumns::fill(std::vector<SweepCell>& cells, std::int64_t point,
                        const PointResult& result) const {
  cells.resize(heads_.size());
  std::size_t at = 0;
  cells[at].kind = SweepCellKind::whole;
  cells[at].is_empty = false;
  cells[at++].whole = point;
  for (std::size_t axis = 0; axis < grid_.axes().size(); ++axis) {
    AxisValue value = grid_.axes()[axis].at(grid_.index_of(point, axis));
    SweepCell& cell = cells[at++];
    cell.kind = cell_kind_of(grid_.axes()[axis].kind());
    cell.is_empty = false;
    cell.whole = value.integer;
    cell.real = value.number;
    cell.text = std::move(value.text);
  }
  const bool failed = !result.error.empty();
  const auto fill_result = [&](const ResultColumn& column) {
    SweepCell& cell = cells[at++];
    if (failed) {
      cell.kind = column.kind;
      cell.is_empty = true;
    } else {
      fill_number(cell, column.kind, column.value(result));
    }
  };
  for (const std::size_t fact : facts_) fill_result(facts[fact]);
  for (const ResultColumn& column : results) fill_result(column);
  cells[at].kind = SweepCellKind::text;
  cells[at].is_empty = !failed;
  cells[at].text = result.error;
}

}  // namespace strata
