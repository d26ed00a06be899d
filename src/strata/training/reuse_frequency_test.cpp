// SPDX-License-Identifier: Apache-2.0
#include "strata/training/reuse_frequency.hpp"

#include <gtest/gtest.h>

#include <set>

namespace strata {
namespace {

/// Counts by loops what a fully connected layer of fp32 does forward: every multiply-add, and every
/// number that it touches.
struct BruteForce {
  std::int64_t macs = 0;
  std::set<std::pair<char, std::int64_t>> touched;  // which tensor, which element

  BruteForce(std::int64_t batch, std::int64_t in, std::int64_t out) {
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t o = 0; o < out; ++o) {
        for (std::int64_t i = 0; i < in; ++i) {
          ++macs;
          touched.insert({'x', n * in + i});
          touched.insert({'w', o * in + i});
        }
        touched.insert({'y', n * out + o});
      }
    }
  }
  std::int64_t bytes() const { return 4 * static_cast<std::int64_t>(touched.size()); }
};

/// One step that multiplies: by hand, as make_program would write it.
Program one_product(std::int64_t batch, std::int64_t in, std::int64_t out) {
  Program program;
  program.values = {
      {.kind = ValueKind::input, .is_given = true, .bytes = 4 * batch * in, .row_bytes = 4 * in},
      {.kind = ValueKind::weight, .is_given = true, .bytes = 4 * in * out, .row_bytes = 4 * out},
      {.kind = ValueKind::feature, .bytes = 4 * batch * out, .row_bytes = 4 * out}};
  program.steps = {
      {.layer_class = LayerClass::dense, .flop = 2 * batch * in * out, .mac = batch * in * out}};
  program.uses = {{0, true, false}, {1, true, false}, {2, false, true}};
  return program;
}

TEST(ReuseFrequency, is_what_loops_count) {
  constexpr std::int64_t batch = 3, in = 5, out = 7;
  const BruteForce counted(batch, in, out);
  const auto all = reuse_frequencies(one_product(batch, in, out), CountMac::as_one);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].operations, counted.macs);
  EXPECT_EQ(all[0].bytes, counted.bytes());
  EXPECT_DOUBLE_EQ(all[0].frequency(),
                   static_cast<double>(counted.macs) / static_cast<double>(counted.bytes()));
  // Each number of X is used `out` times, each of W `batch` times, each of Y `in` times.
  ASSERT_EQ(all[0].values.size(), 3U);
  EXPECT_DOUBLE_EQ(all[0].values[0].frequency, out / 4.0);
  EXPECT_DOUBLE_EQ(all[0].values[1].frequency, batch / 4.0);
  EXPECT_DOUBLE_EQ(all[0].values[2].frequency, in / 4.0);
}

TEST(ReuseFrequency, counts_a_multiply_add_as_two_where_asked) {
  const Program program = one_product(2, 3, 4);
  EXPECT_EQ(reuse_frequencies(program, CountMac::as_two)[0].operations,
            2 * reuse_frequencies(program, CountMac::as_one)[0].operations);
}

TEST(ReuseFrequency, attains_the_bandwidth_or_the_peak) {
  const StepReuse reuse{.operations = 100, .bytes = 10};  // 10 per byte
  EXPECT_EQ(reuse.attainable_per_s(1000, 7), 70);
  EXPECT_EQ(reuse.attainable_per_s(1000, 100), 1000);
  EXPECT_EQ(reuse.attainable_per_s(50, 7), 50);
  EXPECT_EQ(StepReuse{}.frequency(), 0);
}

TEST(ReuseFrequency, the_first_time_step_stands_for_all_and_moves_without_arithmetic_are_left_out) {
  Program program = one_product(2, 3, 4);
  Step again = program.steps[0];
  again.first_use = 3;
  program.steps[0].time = 1;
  again.time = 2;
  program.steps.push_back(again);
  Step move = again;
  move.flop = move.mac = 0;
  move.time = 0;
  program.steps.push_back(move);
  EXPECT_EQ(reuse_frequencies(program, CountMac::as_two).size(), 1U);
}

}  // namespace
}  // namespace strata
