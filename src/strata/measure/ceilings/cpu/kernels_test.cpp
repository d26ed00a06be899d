// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/kernels.hpp"

#include "strata/measure/ceilings/cpu/low_precision.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace strata::cpu {
namespace {

// The arrays of a loop with a guard of one granule behind each, which nobody may touch.
struct Arrays {
  explicit Arrays(std::int64_t count) : count_(count) {
    for (std::int64_t array = 0; array < 3; ++array) {
      for (std::int64_t i = 0; i < count + loop_granule; ++i)
        at(array)[i] = static_cast<double>((array * 31 + i * 7) % 101);
    }
  }
  double* at(std::int64_t array) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    const auto aligned = static_cast<std::int64_t>((64 - address % 64) % 64 / 8);
    return storage_.data() + aligned + array * (count_ + loop_granule);
  }
  std::int64_t count_;
  std::vector<double> storage_ =
      std::vector<double>(static_cast<std::size_t>(3 * (count_ + loop_granule) + 8));
};

double expected_at(AccessMix mix, Arrays& arrays, std::int64_t i) {
  switch (mix) {
    case AccessMix::read: return arrays.at(0)[i];
    case AccessMix::write: return 3;
    case AccessMix::copy: return arrays.at(1)[i];
    case AccessMix::triad: return arrays.at(1)[i] + 3 * arrays.at(2)[i];
  }
  return 0;
}

TEST(CpuKernels, bandwidth_loops_do_what_their_names_say_and_stay_inside) {
  for (const std::int64_t count : {loop_granule, 3 * loop_granule, 20 * loop_granule}) {
    for (const AccessMix mix :
         {AccessMix::read, AccessMix::write, AccessMix::copy, AccessMix::triad}) {
      for (const Store store : {Store::cached, Store::non_temporal}) {
        Arrays before(count), arrays(count);
        const BandwidthLoop loop{mix, store, arrays.at(0), arrays.at(1), arrays.at(2), count};
        const double sum = run_bandwidth_loop(loop, 2);
        double plain_sum = 0;
        for (std::int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(arrays.at(0)[i], expected_at(mix, before, i)) << name_of(mix) << ' ' << i;
          plain_sum += before.at(0)[i];
        }
        EXPECT_EQ(sum, mix == AccessMix::read ? 2 * plain_sum : 0);
        for (std::int64_t i = count; i < count + loop_granule; ++i)
          ASSERT_EQ(arrays.at(0)[i], before.at(0)[i]) << name_of(mix) << " wrote behind its array";
        for (const int other : {1, 2}) {
          ASSERT_TRUE(std::equal(arrays.at(other), arrays.at(other) + count, before.at(other)));
        }
      }
    }
  }
}

TEST(CpuKernels, the_triad_of_stream_is_the_triad) {
  Arrays before(loop_granule), arrays(loop_granule);
  stream_triad(arrays.at(0), arrays.at(1), arrays.at(2), loop_granule - 3);
  for (std::int64_t i = 0; i < loop_granule; ++i) {
    EXPECT_EQ(arrays.at(0)[i],
              i < loop_granule - 3 ? expected_at(AccessMix::triad, before, i) : before.at(0)[i]);
  }
}

template <class T>
void expect_closed_form(DType dtype) {
  for (const LaneUse use : {LaneUse::one, LaneUse::all}) {
    const auto count = static_cast<std::size_t>(fma_elements(dtype, use));
    ASSERT_GT(count, 0U);
    std::vector<T> start(count), out(count + 1, T(-5));
    for (std::size_t i = 0; i < count; ++i) start[i] = static_cast<T>(i % 9) / 2;
    run_fma(dtype, use, 5, start.data(), out.data());
    EXPECT_EQ(out.back(), T(-5)) << "wrote behind its numbers";
    out.pop_back();
    EXPECT_EQ(out, start);  // five times x - 7 + 7
  }
}

TEST(CpuKernels, multiply_adds_leave_their_closed_form) {
  expect_closed_form<float>(DType::fp32);
  expect_closed_form<double>(DType::fp64);
}

// As an even number of steps leaves everything where it was, so would a kernel that does nothing:
// numbers for which x - 7 rounds show that it works.
TEST(CpuKernels, multiply_adds_happen) {
  const auto count = static_cast<std::size_t>(fma_elements(DType::fp32, LaneUse::all));
  const std::vector<float> start(count, 1e-9F);
  std::vector<float> out(count);
  run_fma(DType::fp32, LaneUse::all, 1, start.data(), out.data());
  EXPECT_EQ(out, std::vector<float>(count, 0));  // (1e-9 - 7) + 7
}

TEST(CpuKernels, loops_of_low_precision_leave_their_closed_form) {
  for (const LowPrecisionLoop& loop : low_precision_loops()) {
    for (const std::int64_t rounds : {0, 1, 7}) EXPECT_TRUE(loop.run(rounds)) << loop.instructions;
    EXPECT_GT(loop.flop_per_round, 0);
    EXPECT_EQ(loop.flop_per_clock.has_value(), !loop.source.empty());
  }
}

TEST(CpuKernels, additions_in_a_chain_are_all_made) {
  EXPECT_EQ(add_in_a_chain(0, 5), 0U);
  EXPECT_EQ(add_in_a_chain(1, 5), 5U * adds_per_round);
  EXPECT_EQ(add_in_a_chain(1000, 3), 3000U * adds_per_round);
}

TEST(CpuKernels, lanes_times_chains_are_the_numbers) {
  const VectorUnit unit = vector_unit();
  EXPECT_FALSE(unit.name.empty());
  EXPECT_FALSE(unit.chosen_by.empty());
  const std::int64_t chains = fma_elements(DType::fp64, LaneUse::one);
  EXPECT_EQ(fma_elements(DType::fp64, LaneUse::all), chains * unit.bits / 64);
  EXPECT_EQ(fma_elements(DType::fp32, LaneUse::all), chains * unit.bits / 32);
}

}  // namespace
}  // namespace strata::cpu
