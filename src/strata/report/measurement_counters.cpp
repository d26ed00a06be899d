// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/measurement_report.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata {
namespace {

/// A column of the table for people: what is counted, over the time where it is bytes.
struct ShownCounter {
  std::string_view key;
  std::string_view title;
  int leaves;
};
// As the layer-wise study has them; the CPU's own at the end.
constexpr std::array<ShownCounter, 18> shown_counters = {{
    {"instructions", "instructions", 0},
    {"load_store_share", "ld/st", 7},
    {"ipc", "IPC", 2},
    {"occupancy", "occupied", 6},
    {"stall_data_access", "waits for\ndata", 1},
    {"l1_hit_rate", "L1\nhits", 3},
    {"crossbar_read_bytes", "L2 to L1", 10},
    {"crossbar_write_bytes", "L1 to L2", 11},
    {"l2_read_hit_rate", "L2 read\nhits", 4},
    {"l2_write_hit_rate", "L2 write\nhits", 5},
    {"l2_read_bytes", "L2 read", 12},
    {"l2_write_bytes", "L2 write", 13},
    {"dram_read_bytes", "DRAM read", 8},
    {"dram_write_bytes", "DRAM write", 9},
    {"gld_efficiency", "loads\nused", 14},
    {"gst_efficiency", "stores\nused", 15},
    {"cache_references", "cache\naccesses", 1},
    {"cache_hit_rate", "cache\nhits", 1},
}};

std::string counted_cell(const ProfileRow& row, const CounterColumn& column,
                         const std::optional<double>& value) {
  if (!value) return "";
  if (column.unit == "fraction") return fmt::format("{:.0f} %", 100 * *value);
  if (column.unit == "bytes")
    return row.totals.time_s > 0 ? format_bytes_per_s(*value / row.totals.time_s) : "";
  if (adds_up(column.unit)) return format_count(*value);
  return fmt::format("{:.2f}", *value);
}

std::vector<std::size_t> counted_rows(const MeasurementSummary& summary, std::size_t most) {
  const std::vector<ProfileRow>& rows = summary.measured.profile.rows;
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].counters.empty()) list.push_back(i);
  }
  if (most == every_layer) return list;
  std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
    return rows[a].totals.time_s > rows[b].totals.time_s;
  });
  list.resize(std::min(list.size(), most));
  return list;
}

std::string counted_table(const MeasurementSummary& summary, std::size_t most,
                          const TextStyle& style) {
  const Profile& profile = summary.measured.profile;
  std::vector<Column> columns = {{.title = "counted", .least_width = 16, .omit = Omit::beginning},
                                 {.title = ""}};
  std::vector<std::size_t> places;
  for (const ShownCounter& shown : shown_counters) {
    const auto place = profile.counters.place_of(shown.key);
    if (!place) continue;
    places.push_back(*place);
    columns.push_back(
        {.title = std::string(shown.title), .align = Align::right, .leaves = shown.leaves});
  }
  Table table(std::move(columns));
  for (const std::size_t i : counted_rows(summary, most)) {
    const ProfileRow& row = profile.rows[i];
    std::vector<std::string> cells = {printable(row.layer), row.pass};
    for (const std::size_t place : places)
      cells.push_back(counted_cell(row, profile.counters.columns[place], row.counters[place]));
    table.add_row(std::move(cells));
  }
  return table.to_text(style);
}

}  // namespace

std::string counters_text(const MeasurementSummary& summary, const MeasureView& view,
                          const TextStyle& style) {
  const ProfileCounters& counters = summary.measured.profile.counters;
  if (counters.preset.empty()) return "";
  if (!counters.reason.empty())
    return fmt::format("  no counters: {}\n", printable(counters.reason));
  constexpr std::size_t fewest = 5;  // also where the view shows no layers
  std::string text = counted_table(summary, std::max(view.layers, fewest), style);
  text += fmt::format("  counters: {}, by {}; times are from runs without\n", counters.preset,
                      printable(counters.source));
  for (const AbsentColumn& column : counters.absent)
    text += fmt::format("  not counted: {}: {}\n", printable(column.key), printable(column.reason));
  if (!counters.no_kernels_reason.empty())
    text += fmt::format("  no counters of kernels: {}\n", printable(counters.no_kernels_reason));
  return text;
}

}  // namespace strata
