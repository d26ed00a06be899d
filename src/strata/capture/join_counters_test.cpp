// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/join_counters.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace strata {
namespace {

Recording kernels_named(const std::vector<std::string>& names) {
  Recording recording;
  for (const std::string& name : names) {
    KernelRecord kernel;
    kernel.correlation = recording.kernels.size() + 1;
    kernel.name = recording.names.id_of(name);
    recording.kernels.push_back(kernel);
  }
  return recording;
}

Recording counted(const std::vector<std::string>& names, const std::string& counter, double first) {
  Recording recording = kernels_named(names);
  recording.counters.names = {recording.names.id_of(counter)};
  recording.counters.units = {recording.names.id_of("byte")};
  for (std::size_t i = 0; i < names.size(); ++i)
    recording.counters.values.push_back(first + static_cast<double>(i));
  return recording;
}

TEST(JoinCounters, TheNthLaunchOfANameIsTheNthThere) {
  Recording timed = kernels_named({"a", "b", "a", "c", "a"});
  timed.kernels[2].graph_node = 7;  // cannot be counted
  const CounterJoin join = join_counters(timed, counted({"b", "a", "a", "d"}, "x", 10));
  EXPECT_EQ(join.joined, 3);
  EXPECT_EQ(join.without, 2);  // that of the graph, and c
  EXPECT_EQ(join.unused, 1);   // d
  const std::vector<double>& values = timed.counters.values;
  ASSERT_EQ(values.size(), 5U);
  EXPECT_EQ(values[0], 11);
  EXPECT_EQ(values[1], 10);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_TRUE(std::isnan(values[3]));
  EXPECT_EQ(values[4], 12);
}

TEST(JoinCounters, FurtherRunsAddColumns) {
  Recording timed = kernels_named({"a", "b"});
  join_counters(timed, counted({"a", "b"}, "x", 1));
  join_counters(timed, counted({"b", "a"}, "y", 5));
  EXPECT_EQ(timed.counters.values, (std::vector<double>{1, 6, 2, 5}));
  ASSERT_EQ(timed.counters.names.size(), 2U);
  EXPECT_EQ(timed.names.text(timed.counters.names[1]), "y");
  EXPECT_EQ(timed.names.text(timed.counters.units[1]), "byte");
}

}  // namespace
}  // namespace strata
