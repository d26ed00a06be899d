// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/occupancy_limits.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

TimelineSpan kernel_with(std::size_t row, double seconds, double share, OccupancyLimit limit) {
  TimelineSpan kernel{"k", row, 0, seconds};
  kernel.occupancy = Occupancy{share, limit};
  return kernel;
}

TrainingMeasurement counted_rows(std::size_t count) {
  TrainingMeasurement measured;
  measured.profile.counters.columns = {{"occupancy", "fraction", ""}};
  measured.profile.rows.resize(count);
  for (ProfileRow& row : measured.profile.rows) row.counters = {0.2};
  return measured;
}

std::optional<double> value_of(const TrainingMeasurement& measured, std::size_t row,
                               std::string_view key) {
  const auto place = measured.profile.counters.place_of(key);
  const CounterValues& values = measured.profile.rows[row].counters;
  return place && *place < values.size() ? values[*place] : std::nullopt;
}

TEST(OccupancyLimits, are_shares_of_the_kernels_time) {
  TrainingMeasurement measured = counted_rows(3);
  measured.profile.rows[1].counters.clear();  // not counted
  measured.kernels = {kernel_with(0, 3, 0.25, OccupancyLimit::registers),
                      kernel_with(0, 1, 0.5, OccupancyLimit::shared_memory),
                      kernel_with(1, 1, 1, OccupancyLimit::none)};
  add_occupancy_limits(measured);
  EXPECT_EQ(value_of(measured, 0, "occupancy"), 0.2);
  EXPECT_EQ(value_of(measured, 0, "possible_occupancy"), (3 * 0.25 + 0.5) / 4);
  EXPECT_EQ(value_of(measured, 0, "limited_by_registers"), 0.75);
  EXPECT_EQ(value_of(measured, 0, "limited_by_shared_memory"), 0.25);
  EXPECT_EQ(value_of(measured, 0, "limited_by_block_size"), 0);
  EXPECT_TRUE(measured.profile.rows[1].counters.empty());
  EXPECT_FALSE(value_of(measured, 2, "possible_occupancy")) << "it has no kernel";
}

TEST(OccupancyLimits, are_not_there_without_counters_or_a_trace) {
  TrainingMeasurement untraced = counted_rows(1);
  untraced.kernels = {{"k", 0, 0, 1}};
  add_occupancy_limits(untraced);
  EXPECT_EQ(untraced.profile.counters.columns.size(), 1U);
  TrainingMeasurement uncounted = counted_rows(1);
  uncounted.profile.counters.columns.clear();
  uncounted.kernels = {kernel_with(0, 1, 0.5, OccupancyLimit::registers)};
  add_occupancy_limits(uncounted);
  EXPECT_TRUE(uncounted.profile.counters.columns.empty());
}

}  // namespace
}  // namespace strata
