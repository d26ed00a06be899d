// SPDX-License-Identifier: Apache-2.0
// Every kind of vector unit that this CPU has, not only the one that would be chosen.
#include "strata/measure/ceilings/cpu/highway_kernels.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace strata::cpu {
namespace {

void expect_right_results(const TargetKernels& kernels) {
  const std::string name = kernels.name;
  constexpr std::int64_t count = 4 * loop_granule;
  struct alignas(64) Arrays {
    double a[count], b[count], c[count];
  };
  const auto arrays = std::make_unique<Arrays>();
  for (std::int64_t i = 0; i < count; ++i) {
    arrays->a[i] = static_cast<double>(i);
    arrays->b[i] = static_cast<double>(i * i % 97);
    arrays->c[i] = static_cast<double>(i % 13);
  }
  BandwidthLoop loop{AccessMix::read, Store::cached, arrays->a, arrays->b, arrays->c, count};
  const double sum = static_cast<double>(count * (count - 1) / 2);
  EXPECT_EQ(kernels.bandwidth_loop(loop, 1), sum) << name;
  loop.prefetch = Prefetch::ahead;
  EXPECT_EQ(kernels.bandwidth_loop(loop, 1), sum) << name;
  for (const auto& [store, prefetch] : {std::pair{Store::cached, Prefetch::none},
                                        {Store::non_temporal, Prefetch::none},
                                        {Store::cached, Prefetch::ahead},
                                        {Store::non_temporal, Prefetch::ahead}}) {
    loop.store = store;
    loop.prefetch = prefetch;
    for (const AccessMix mix : {AccessMix::triad, AccessMix::copy, AccessMix::write}) {
      loop.mix = mix;
      std::fill_n(arrays->a, count, -1.0);
      kernels.bandwidth_loop(loop, 1);
      for (std::int64_t i = 0; i < count; ++i) {
        const double triad = arrays->b[i] + 3 * arrays->c[i];
        const double copied = mix == AccessMix::copy ? arrays->b[i] : 3;
        ASSERT_EQ(arrays->a[i], mix == AccessMix::triad ? triad : copied) << name << ' ' << i;
      }
    }
  }
  for (const LaneUse use : {LaneUse::one, LaneUse::all}) {
    const std::vector<float> start(static_cast<std::size_t>(kernels.elements(DType::fp32, use)), 2);
    std::vector<float> out(start.size());
    kernels.fma(DType::fp32, use, 3, start.data(), out.data());
    EXPECT_EQ(out, start) << name;
  }
}

TEST(CpuKernels, every_vector_unit_gives_the_same_results) {
  const auto all = kernels_for_this_cpu();
  ASSERT_FALSE(all.empty());
  int bits = all.front().bits();
  for (const TargetKernels& kernels : all) {
    EXPECT_LE(kernels.bits(), bits) << "the best comes first";
    bits = kernels.bits();
    expect_right_results(kernels);
  }
}

}  // namespace
}  // namespace strata::cpu
