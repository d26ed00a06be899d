// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/efficiency.hpp"

#include "strata/base/error.hpp"
#include "strata/convolution/lab/result.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

CounterTable counted() {
  CounterTable table;
  for (const char* key : {"instructions", "occupancy", "ipc", "gld_efficiency"})
    table.columns.push_back({key, "", ""});
  table.ranges = {{"transform", {100.0, 0.5, 1.0, 0.25}},
                  {"gemm", {1000.0, 0.125, 3.0, std::nullopt}},
                  {"transform", {300.0, 0.9, 2.0, std::nullopt}}};
  return table;
}

TEST(Efficiency, a_role_that_comes_twice_is_weighted_with_its_instructions) {
  const KernelRole roles[] = {KernelRole::transform, KernelRole::gemm, KernelRole::transform};
  const auto all = efficiencies_by_role(counted(), roles);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].role, KernelRole::transform);
  EXPECT_DOUBLE_EQ(*all[0].occupancy, (100 * 0.5 + 300 * 0.9) / 400);
  EXPECT_DOUBLE_EQ(*all[0].ipc, (100 * 1.0 + 300 * 2.0) / 400);
  EXPECT_DOUBLE_EQ(*all[0].global_load, 0.25);  // the other had no load
  EXPECT_EQ(all[0].shared, std::nullopt);       // nobody counted it
  EXPECT_DOUBLE_EQ(*all[1].occupancy, 0.125);
  EXPECT_EQ(all[1].global_load, std::nullopt);
}

TEST(Efficiency, a_range_without_a_role_is_a_bug) {
  const KernelRole roles[] = {KernelRole::gemm};
  EXPECT_THROW(efficiencies_by_role(counted(), roles), Error);
}

// The lab's names are those of the columns in data/metrics.
TEST(Efficiency, every_one_of_the_six_is_a_column_of_every_chip) {
  for (const char* chip : {"GH100", "GA100", "AD102", "any other"}) {
    for (const ConvEfficiencyName& name : conv_efficiency_names())
      EXPECT_NE(metrics_of_chip(chip).column(name.key), nullptr) << chip << " " << name.key;
    EXPECT_NE(metrics_of_chip(chip).column("instructions"), nullptr) << chip;
  }
}

}  // namespace
}  // namespace strata
