// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/occupancy_limits.hpp"

#include <array>
#include <string_view>

namespace strata {
namespace {

struct LimitColumn {
  OccupancyLimit limit = OccupancyLimit::unknown;
  std::string_view key;
  std::string_view about;
};

constexpr std::array<LimitColumn, 3> limit_columns = {
    {{OccupancyLimit::registers, "limited_by_registers",
      "of the kernels' time, that in which registers limit the warps"},
     {OccupancyLimit::shared_memory, "limited_by_shared_memory",
      "of the kernels' time, that in which shared memory limits the warps"},
     {OccupancyLimit::block_size, "limited_by_block_size",
      "of the kernels' time, that in which the size or number of blocks limits the warps"}}};

/// Sums over the kernels of a row, each weighted with its time.
struct RowOccupancy {
  double time_s = 0;
  double possible_s = 0;
  std::array<double, limit_columns.size()> limited_s = {};

  void add(const Occupancy& occupancy, double seconds) {
    time_s += seconds;
    possible_s += seconds * occupancy.share;
    for (std::size_t i = 0; i < limit_columns.size(); ++i)
      if (occupancy.limit == limit_columns[i].limit) limited_s[i] += seconds;
  }
};

}  // namespace

void add_occupancy_limits(TrainingMeasurement& measured) {
  Profile& profile = measured.profile;
  if (profile.counters.columns.empty()) return;
  std::vector<RowOccupancy> rows(profile.rows.size());
  bool is_known = false;
  for (const TimelineSpan& kernel : measured.kernels) {
    if (!kernel.occupancy) continue;
    rows[kernel.row].add(*kernel.occupancy, kernel.seconds);
    is_known = true;
  }
  if (!is_known) return;
  const std::size_t counted = profile.counters.columns.size();
  profile.counters.columns.push_back(
      {"possible_occupancy", "fraction",
       "warps that the launches allow, of the most possible; the mean by the kernels' time"});
  for (const LimitColumn& column : limit_columns)
    profile.counters.columns.push_back(
        {std::string(column.key), "fraction", std::string(column.about)});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CounterValues& values = profile.rows[i].counters;
    if (values.empty() || !(rows[i].time_s > 0)) continue;
    values.resize(counted);
    values.emplace_back(rows[i].possible_s / rows[i].time_s);
    for (const double limited_s : rows[i].limited_s)
      values.emplace_back(limited_s / rows[i].time_s);
  }
}

}  // namespace strata
