// SPDX-License-Identifier: Apache-2.0
#include "strata/roofline/counted_work.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace strata {
namespace {

using Counters = std::map<std::string, double, std::less<>>;

CounterLookup lookup(const Counters& counters) {
  return [&counters](std::string_view key) -> std::optional<double> {
    const auto found = counters.find(key);
    return found == counters.end() ? std::nullopt : std::optional(found->second);
  };
}

Work defined_product() {
  return {.flop = 28'000,
          .bytes = 64,
          .read_bytes = 40,
          .launches = 3,
          .time_s = 2,
          .otherwise = {DType::fp32, true, 0},
          .does_fewer_operations = true,
          .most_bytes = 64};
}

TEST(CountedWork, needs_the_bytes_of_the_devices_memory) {
  const Counters counters = {{"dram_read_bytes", 300}, {"fp32_flop", 8'500}};
  EXPECT_FALSE(counted_work(defined_product(), DType::fp32, lookup(counters)));
}

TEST(CountedWork, has_the_counted_bytes_and_flop_and_keeps_the_rest) {
  const Counters counters = {{"dram_read_bytes", 300}, {"dram_write_bytes", 241},
                             {"l2_read_bytes", 500},   {"l2_write_bytes", 250},
                             {"l1_load_bytes", 900},   {"fma_pipe_flop", 10'000},
                             {"fp32_flop", 8'500}};
  const auto work = counted_work(defined_product(), DType::fp32, lookup(counters));
  ASSERT_TRUE(work);
  EXPECT_EQ(work->bytes, 541);
  EXPECT_EQ(work->read_bytes, 300);
  EXPECT_EQ(work->flop, 8'500);
  EXPECT_EQ(work->arithmetic, (std::vector<TypedFlop>{{DType::fp32, false, 8'500}}));
  EXPECT_EQ(work->levels, (std::vector<LevelBytes>{{"L2", 750}}));  // half of L1 is no level
  EXPECT_TRUE(work->counts_bytes && work->counts_flop);
  EXPECT_FALSE(work->is_flop_at_most);
  EXPECT_FALSE(work->does_fewer_operations);  // what is counted was done
  EXPECT_EQ(work->time_s, 2);
  EXPECT_EQ(work->launches, 3);
}

TEST(CountedWork, an_upper_bound_counts_where_it_is_below_the_definition) {
  const Counters counters = {
      {"dram_read_bytes", 30}, {"dram_write_bytes", 30}, {"fma_pipe_flop", 10'000}};
  const auto product = counted_work(defined_product(), DType::fp32, lookup(counters));
  ASSERT_TRUE(product);
  EXPECT_EQ(product->flop, 10'000);
  EXPECT_TRUE(product->is_flop_at_most);
  for (const std::int64_t flop : {0, 9'000}) {  // the bound includes arithmetic of addresses
    Work less = defined_product();
    less.flop = flop;
    EXPECT_EQ(counted_work(less, DType::fp32, lookup(counters))->flop, flop);
  }
}

TEST(CountedWork, matrix_units_that_were_not_counted_whole_leave_the_definition) {
  Counters counters = {{"dram_read_bytes", 30},
                       {"dram_write_bytes", 30},
                       {"fma_pipe_flop", 100},
                       {"wgmma_fp16_flop", 0}};
  const auto half = counted_work(defined_product(), DType::fp16, lookup(counters));
  ASSERT_TRUE(half);
  EXPECT_EQ(half->flop, 28'000);
  EXPECT_TRUE(half->counts_bytes);
  EXPECT_FALSE(half->counts_flop);
  counters["tensor_fp16_flop"] = 29'000;
  const auto whole = counted_work(defined_product(), DType::fp16, lookup(counters));
  EXPECT_EQ(whole->flop, 29'000);  // what is exact; the 100 may be addresses
  EXPECT_TRUE(whole->counts_flop);
}

RooflineRow row_with(std::int64_t counted) {
  RooflineRow row;
  row.definition = Definition{};
  row.product_flop = 900;
  row.counted_product_flop = counted;
  row.work.counts_flop = true;
  return row;
}

TEST(CountedWork, tells_another_algorithm_by_its_arithmetic) {
  EXPECT_EQ(algorithm_of(row_with(599)), Algorithm::fewer_operations);
  EXPECT_EQ(algorithm_of(row_with(601)), Algorithm::as_defined);
  EXPECT_EQ(algorithm_of(row_with(1349)), Algorithm::as_defined);
  EXPECT_EQ(algorithm_of(row_with(1351)), Algorithm::more_operations);
  RooflineRow uncounted = row_with(1);
  uncounted.definition.reset();
  EXPECT_FALSE(counted_over_defined(uncounted));
  RooflineRow pointwise = row_with(1);
  pointwise.product_flop = 0;
  EXPECT_EQ(algorithm_of(pointwise), Algorithm::as_defined);
}

// Zero-AI kernels are told by what was counted, where it was, whatever the definition says.
TEST(CountedWork, launches_without_a_counted_flop_are_all_zero_flop) {
  const Work defined{.flop = 100, .bytes = 10, .launches = 4, .time_s = 2, .zero_flop_launches = 1};
  double flop = 0;
  double instructions = 0;
  const auto counted = [&] {
    return *counted_work(defined, DType::fp32, [&](std::string_view key) -> std::optional<double> {
      if (key == "fp32_flop") return flop;
      if (key == "fp16_instructions") return instructions;
      if (key == "dram_read_bytes" || key == "dram_write_bytes") return 5;
      return std::nullopt;
    });
  };
  EXPECT_EQ(counted().zero_flop_launches, 4);
  EXPECT_EQ(counted().zero_flop_s, 2);
  instructions = 1;  // fp16 on the lanes: FLOP that no counter has
  EXPECT_EQ(counted().zero_flop_launches, 1);
  instructions = 0;
  flop = 3;
  EXPECT_EQ(counted().zero_flop_launches, 1);
}

ProfileRow counted_row(std::string layer, CounterValues values) {
  ProfileRow row;
  row.layer = std::move(layer);
  row.pass = "forward";
  row.layer_class = "dense";
  row.totals = {.time_s = 1, .flop = 100, .in_bytes = 10, .launches = 1};
  row.counters = std::move(values);
  return row;
}

// 10 bytes/s, 100 FLOP/s.
TEST(CountedWork, a_group_is_counted_where_all_that_ran_is) {
  Machine machine;
  machine.name = "small";
  machine.peaks = {{DType::fp32, ComputeUnit::vector, {100, "test"}}};
  machine.memory = {{"DRAM", false, Sourced{1000, "test"}, Sourced{10, "test"}}};
  Profile profile;
  profile.evidence = Evidence::measured;
  profile.subject.dtype = "fp32";
  profile.counters.columns = {{"dram_read_bytes", "bytes", ""},
                              {"dram_write_bytes", "bytes", ""},
                              {"fp32_flop", "flop", ""}};
  profile.rows = {counted_row("a", {20, 20, 30}), counted_row("b", {5, 5, 110}),
                  counted_row("skipped", {})};
  profile.rows[2].totals.time_s = 0;
  profile.rows[2].totals.launches = 0;
  const auto all = [&] { return roofline_of(profile, roofs_of(machine), RooflineBy::all)[0]; };
  ASSERT_TRUE(all().definition);
  EXPECT_EQ(all().work.flop, 140);
  EXPECT_EQ(all().work.bytes, 50);
  EXPECT_EQ(all().definition->work.flop, 300);
  EXPECT_EQ(all().definition->work.bytes, 30);
  EXPECT_EQ(all().point.bound, Bound::memory);
  EXPECT_EQ(all().definition->point.bound, Bound::compute);
  EXPECT_EQ(all().counted_product_flop, 140);

  profile.rows[1].counters = {5, std::nullopt, 110};
  EXPECT_FALSE(all().definition);
  EXPECT_EQ(all().work.flop, 300);
  const auto rows = roofline_of(profile, roofs_of(machine), RooflineBy::row);
  EXPECT_EQ(rows[0].work.bytes, 40);
  EXPECT_EQ(algorithm_of(rows[0]), Algorithm::fewer_operations);
  EXPECT_EQ(rows[1].work.bytes, 10);
  EXPECT_FALSE(rows[1].definition);
  set_roofs(profile, machine);
  EXPECT_EQ(profile.rows[0].roof_s, 4);
}

}  // namespace
}  // namespace strata
