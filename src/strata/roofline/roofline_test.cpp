// SPDX-License-Identifier: Apache-2.0
#include "strata/roofline/roofline.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace strata {
namespace {

Sourced number(double value) { return {value, "test"}; }

// 100 FLOP/s on lanes, 1000 on matrix units in fp16; L2 50 bytes/s, DRAM 10 bytes/s; 0.5 s launch.
Machine small_machine() {
  Machine machine;
  machine.name = "small";
  machine.title = "Small";
  machine.kind = "gpu";
  machine.peaks = {{DType::fp32, ComputeUnit::vector, number(100)},
                   {DType::fp16, ComputeUnit::vector, number(200)},
                   {DType::fp16, ComputeUnit::matrix, number(1000)}};
  machine.memory = {{"L1", true, number(1), std::nullopt},
                    {"L2", true, number(10), number(50)},
                    {"DRAM", false, number(1000), number(10)}};
  machine.launch_latency_s = number(0.5);
  return machine;
}

Work fp32_work(std::int64_t flop, std::int64_t bytes, double time_s, std::int64_t launches = 1) {
  return {.flop = flop,
          .bytes = bytes,
          .launches = launches,
          .time_s = time_s,
          .arithmetic = {{DType::fp32, false, flop}}};
}

TEST(Roofline, a_memory_bound_kernel_by_hand) {
  const Machine machine = small_machine();
  const RooflinePoint point = place(fp32_work(40, 20, 4), roofs_of(machine));
  EXPECT_EQ(point.intensity, 2);
  EXPECT_EQ(point.peak_flop_per_s, 100);
  EXPECT_EQ(point.balance, 10);
  EXPECT_EQ(point.compute_roof_s, 0.4);
  EXPECT_EQ(point.memory_roof_s, 2);
  EXPECT_EQ(point.memory_level, "DRAM");
  EXPECT_EQ(point.overhead_s, 0.5);
  EXPECT_EQ(point.attainable_flop_per_s, 20);  // AI·W, below P and F/(n·λ) = 80
  EXPECT_EQ(point.flop_per_s, 10);
  EXPECT_EQ(point.distance, 2);
  EXPECT_EQ(point.bandwidth_time_s, 4);
  EXPECT_DOUBLE_EQ(point.compute_time_s, 0.8);  // T·AI/β
  EXPECT_EQ(point.complexity_bound, Bound::memory);
  EXPECT_EQ(point.bound, Bound::memory);
}

TEST(Roofline, a_compute_bound_kernel_by_hand) {
  const Machine machine = small_machine();
  const RooflinePoint point = place(fp32_work(400, 20, 8), roofs_of(machine));
  EXPECT_EQ(point.complexity_bound, Bound::compute);
  EXPECT_EQ(point.compute_time_s, 8);
  EXPECT_EQ(point.bandwidth_time_s, 4);  // T·β/AI
  EXPECT_EQ(point.attainable_flop_per_s, 100);
  EXPECT_EQ(point.distance, 2);
}

TEST(Roofline, launches_hide_a_bound_and_lower_what_is_attainable) {
  const Machine machine = small_machine();
  const RooflinePoint point = place(fp32_work(400, 20, 8, /*launches=*/20), roofs_of(machine));
  EXPECT_EQ(point.overhead_s, 10);
  EXPECT_EQ(point.complexity_bound, Bound::compute);
  EXPECT_EQ(point.bound, Bound::launch);
  EXPECT_EQ(point.attainable_flop_per_s, 40);
  EXPECT_EQ(point.distance, 2);  // from the roof of the machine, not of the launches
  Machine silent = machine;
  silent.launch_latency_s.reset();
  EXPECT_EQ(place(fp32_work(400, 20, 8, 20), roofs_of(silent)).bound, Bound::compute);
}

TEST(Roofline, the_corner_of_the_box_is_not_inside_it) {
  const Machine machine = small_machine();
  EXPECT_EQ(place(fp32_work(40, 20, 2, 4), roofs_of(machine)).bound, Bound::memory);
  EXPECT_EQ(place(fp32_work(40, 20, std::nextafter(2, 0), 4), roofs_of(machine)).bound,
            Bound::launch);
}

TEST(Roofline, the_bound_flips_exactly_at_the_balance) {
  const Machine machine = small_machine();  // β = 10 in fp32
  const auto bound = [&](std::int64_t flop, std::int64_t bytes) {
    return place(fp32_work(flop, bytes, 100), roofs_of(machine)).complexity_bound;
  };
  EXPECT_EQ(bound(10'000'000, 1'000'000), Bound::compute);
  EXPECT_EQ(bound(9'999'999, 1'000'000), Bound::memory);
  EXPECT_EQ(bound(10'000'000, 1'000'001), Bound::memory);
}

TEST(Roofline, data_movement_has_no_compute_time) {
  const Machine machine = small_machine();
  const RooflinePoint point = place(fp32_work(0, 20, 3), roofs_of(machine));
  EXPECT_TRUE(point.is_zero_flop);
  EXPECT_EQ(point.compute_time_s, 0);
  EXPECT_EQ(point.bandwidth_time_s, 3);
  EXPECT_EQ(point.bound, Bound::memory);
  EXPECT_EQ(point.distance, 1.5);
  const RooflinePoint nothing = place(Work{}, roofs_of(machine));
  EXPECT_EQ(nothing.distance, 0);
  EXPECT_FALSE(nothing.intensity.has_value());
}

TEST(Roofline, work_without_bytes_is_compute_bound) {
  const Machine machine = small_machine();
  const RooflinePoint point = place(fp32_work(100, 0, 2), roofs_of(machine));
  EXPECT_FALSE(point.intensity.has_value());
  EXPECT_EQ(point.bound, Bound::compute);
  EXPECT_EQ(point.bandwidth_time_s, 0);
  EXPECT_EQ(point.compute_time_s, 2);
}

TEST(Roofline, the_slowest_level_of_memory_is_the_roof) {
  const Machine machine = small_machine();
  Work work = fp32_work(100, 10, 10);
  work.levels = {{"l2", 400}, {"unheard of", 7}};
  const RooflinePoint point = place(work, roofs_of(machine));
  ASSERT_EQ(point.levels.size(), 2U);  // L1 has no bandwidth
  EXPECT_EQ(point.levels[0].level, "L2");
  EXPECT_EQ(point.levels[0].intensity, 0.25);
  EXPECT_EQ(point.levels[0].roof_s, 8);
  EXPECT_EQ(point.levels[1].intensity, 10);
  EXPECT_EQ(point.memory_level, "L2");
  EXPECT_EQ(point.balance, 2);
  EXPECT_EQ(point.bound, Bound::memory);
  EXPECT_EQ(point.distance, 1.25);
}

TEST(Roofline, mixed_types_take_the_sum_of_their_times) {
  const Machine machine = small_machine();
  Work work = fp32_work(1100, 1, 3);
  work.arithmetic = {{DType::fp32, false, 100}, {DType::fp16, true, 1000}};
  const RooflinePoint point = place(work, roofs_of(machine));
  EXPECT_EQ(point.compute_roof_s, 2);  // 100/100 + 1000/1000
  EXPECT_EQ(point.peak_flop_per_s, 550);
  ASSERT_EQ(point.peaks.size(), 2U);
  EXPECT_EQ(point.peaks[0].name, "fp16 matrix");
  EXPECT_EQ(place(work, roofs_of(machine, parse_roof("tensor"))).compute_roof_s, 1.1);
  EXPECT_EQ(place(work, roofs_of(machine, parse_roof("fp16"))).compute_roof_s, 5.5);
  EXPECT_EQ(place(work, roofs_of(machine, parse_roof("fp16-matrix"))).compute_roof_s, 1.1);
}

TEST(Roofline, a_roof_that_is_not_there_is_refused) {
  const Machine machine = small_machine();
  EXPECT_THROW(roofs_of(machine, parse_roof("bf16")), Error);
  EXPECT_THROW(parse_roof("fp17"), Error);
  EXPECT_THROW(parse_roof("fp16-scalar"), Error);
  Machine lanes = machine;
  lanes.peaks.pop_back();
  EXPECT_THROW(roofs_of(lanes, parse_roof("tensor")), Error);
  // In auto what the machine lacks falls to what does the work there.
  EXPECT_EQ(peak_for(roofs_of(lanes), DType::fp16, true).name, "fp16 vector");
  EXPECT_EQ(peak_for(roofs_of(lanes), DType::bf16, false).name, "fp32 vector");
  Machine deaf = machine;
  deaf.memory.back().bandwidth_bytes_per_s.reset();
  EXPECT_THROW(roofs_of(deaf), Error);
  for (const char* name : {"auto", "tensor", "fp32", "fp16-matrix"})
    EXPECT_EQ(name_of(parse_roof(name)), name);
}

// What must hold for any work: the larger time of the pair is T, the pair lies on the diagonal of
// the intensity, and no attainable rate exceeds any of its three roofs.
TEST(Roofline, any_work_lies_on_its_diagonal_with_its_time_as_the_larger) {
  const Machine machine = small_machine();
  std::mt19937 random(7);
  const auto below = [&](unsigned limit) { return static_cast<std::int64_t>(random() % limit); };
  for (int i = 0; i < 2000; ++i) {
    Work work = fp32_work(1 + below(100000), 1 + below(10000),
                          0.001 * (1.0 + double(below(1000000))), below(50));
    if (below(2) == 0) work.arithmetic = {{DType::fp16, true, std::min(work.flop, below(1000))}};
    const RooflinePoint point = place(work, roofs_of(machine));
    EXPECT_EQ(std::max(point.compute_time_s, point.bandwidth_time_s), work.time_s);
    EXPECT_NEAR(point.compute_time_s / point.bandwidth_time_s, *point.intensity / point.balance,
                1e-9 * *point.intensity / point.balance);
    const double roof = point.attainable_flop_per_s * (1 - 1e-12);
    EXPECT_LE(roof, point.peak_flop_per_s);
    EXPECT_LE(roof, *point.intensity * 10);
    if (work.launches > 0) {
      EXPECT_LE(roof, double(work.flop) / point.overhead_s);
    }
    // Scaled by W and P, the open symbol lies as far from the closed one as `distance` says.
    EXPECT_NEAR(std::max(point.bandwidth_time_s * 10 / double(work.bytes),
                         point.compute_time_s * point.peak_flop_per_s / double(work.flop)),
                point.distance, 1e-9 * point.distance);
  }
}

TEST(Roofline, the_worked_numbers_of_the_paper) {
  const Machine machine = load_machine("v100-nersc");
  const Roofs roofs = roofs_of(machine, parse_roof("tensor"));
  const PeakRoof tensor = peak_for(roofs, DType::fp32, false);
  EXPECT_NEAR(tensor.flop_per_s, 80.0 * 8 * 1.312e9 * 4 * 4 * 4 * 2, 1);
  EXPECT_NEAR(tensor.flop_per_s * 1e-12, 107.479, 0.0005);
  const RooflinePoint point = place(fp32_work(1, 1, 1), roofs);
  EXPECT_NEAR(point.balance, 129.68, 0.005);
  EXPECT_EQ(roofs.launch_latency_s, 4.2e-6);
  EXPECT_NEAR(flop_to_leave_box(1.06e14, 4.2e-6), 0.445e9, 0.0005e9);
  // One launch with that much arithmetic and nothing else takes as long as starting it.
  const double flop = flop_to_leave_box(tensor.flop_per_s, 4.2e-6);
  const auto whole = static_cast<std::int64_t>(flop);
  EXPECT_EQ(place(fp32_work(whole + 1, 1, double(whole + 1) / tensor.flop_per_s), roofs).bound,
            Bound::compute);
  EXPECT_EQ(place(fp32_work(whole - 1, 1, double(whole - 1) / tensor.flop_per_s), roofs).bound,
            Bound::launch);
}

ProfileRow row(std::string layer, std::string pass, std::int64_t flop, double time_s) {
  ProfileRow made;
  made.layer = std::move(layer);
  made.pass = std::move(pass);
  made.op = "op of " + made.layer;
  made.totals.flop = flop;
  made.totals.in_bytes = 5;
  made.totals.launches = 1;
  made.totals.time_s = time_s;
  made.wall_s = 2 * time_s;
  return made;
}

Profile three_rows() {
  Profile profile;
  profile.subject.dtype = "fp16";
  profile.rows = {row("a", "forward", 10, 1), row("b", "forward", 0, 2),
                  row("a", "backward", 30, 4)};
  profile.rows[0].arithmetic = {{DType::fp32, false, 10}};
  profile.rows[1].totals.zero_flop_launches = 1;
  profile.rows[1].totals.zero_flop_s = 2;
  profile.rows[2].layer_class = "dense";
  return profile;
}

TEST(Roofline, rows_are_added_up_by_what_is_asked) {
  const Machine machine = small_machine();
  const Profile profile = three_rows();
  const auto names = [&](RooflineBy by) {
    std::string joined;
    for (const RooflineRow& row : roofline_of(profile, roofs_of(machine), by))
      joined += row.name + ";";
    return joined;
  };
  EXPECT_EQ(names(RooflineBy::row), "a forward;b forward;a backward;");
  EXPECT_EQ(names(RooflineBy::layer), "a;b;");
  EXPECT_EQ(names(RooflineBy::type), "op of a;op of b;");
  EXPECT_EQ(names(RooflineBy::pass), "forward;backward;");
  const auto all = roofline_of(profile, roofs_of(machine), RooflineBy::all);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].work.flop, 40);
  EXPECT_EQ(all[0].work.bytes, 15);
  EXPECT_EQ(all[0].work.launches, 3);
  EXPECT_EQ(all[0].work.time_s, 7);
  EXPECT_EQ(all[0].work.wall_s, 14);
  EXPECT_EQ(all[0].work.zero_flop_s, 2);
  // 10 FLOP in fp32 on lanes, 30 unnamed: a dense layer of an fp16 profile uses matrix units.
  EXPECT_DOUBLE_EQ(all[0].point.compute_roof_s, 10 / 100.0 + 30 / 1000.0);
}

TEST(Roofline, time_by_bound_adds_up) {
  const Machine machine = small_machine();
  const auto rows = roofline_of(three_rows(), roofs_of(machine), RooflineBy::row);
  double time_s = 0;
  std::size_t count = 0;
  for (const BoundShare& share : shares_by_bound(rows)) {
    time_s += share.time_s;
    count += share.rows;
  }
  EXPECT_EQ(time_s, 7);
  EXPECT_EQ(count, 3U);
}

TEST(Roofline, missing_columns_are_named) {
  const Machine machine = small_machine();
  Profile profile = three_rows();
  profile.columns.has_bytes = false;
  try {
    roofline_of(profile, roofs_of(machine), RooflineBy::all);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what()).find("no bytes ('traffic_in_bytes'"), std::string::npos);
  }
  profile.columns = {.has_launches = false};
  EXPECT_EQ(roofline_of(profile, roofs_of(machine), RooflineBy::all)[0].point.overhead_s, 0);
}

TEST(Roofline, the_roof_of_bytes_is_that_of_the_mix_of_reads_and_writes) {
  Machine machine = load_machine("v100");
  MemoryLevel& outer = machine.memory.back();
  outer.mixes = {{AccessMix::read, {8e11, "test"}}, {AccessMix::write, {4e11, "test"}}};
  Profile profile;
  for (const bool reads : {true, false}) {
    ProfileRow row;
    row.layer = reads ? "reads" : "writes";
    row.pass = "forward";
    (reads ? row.totals.in_bytes : row.totals.out_bytes) = 8'000'000;
    row.totals.time_s = 1;
    profile.rows.push_back(row);
  }
  const auto rows = roofline_of(profile, roofs_of(machine), RooflineBy::row);
  EXPECT_DOUBLE_EQ(rows[0].point.roof_s, 1e-5);
  EXPECT_DOUBLE_EQ(rows[1].point.roof_s, 2e-5);
  EXPECT_DOUBLE_EQ(rows[1].point.memory_bytes_per_s, 4e11);
  set_roofs(profile, machine);
  EXPECT_EQ(profile.rows[1].roof_s, rows[1].point.roof_s);
  outer.mixes.clear();
  set_roofs(profile, machine);
  EXPECT_EQ(profile.rows[0].roof_s, profile.rows[1].roof_s);
}

}  // namespace
}  // namespace strata
