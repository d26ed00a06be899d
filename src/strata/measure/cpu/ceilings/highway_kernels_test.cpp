// SPDX-License-Identifier: Apache-2.0
// Every kind of vector unit that this CPU has, not only the one that would be chosen.
#include "strata/measure/cpu/ceilings/kernels.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <memory>
#include <set>
#include <vector>

namespace strata::cpu {
namespace {

// The kernels for one target at a time, until it ends.
class OnlyTarget {
 public:
  explicit OnlyTarget(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  ~OnlyTarget() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;
};

void expect_right_results(const std::string& name) {
  constexpr std::int64_t count = 4 * walk_granule;
  struct alignas(64) Arrays {
    double a[count], b[count], c[count];
  };
  const auto arrays = std::make_unique<Arrays>();
  for (std::int64_t i = 0; i < count; ++i) {
    arrays->a[i] = static_cast<double>(i);
    arrays->b[i] = static_cast<double>(i * i % 97);
    arrays->c[i] = static_cast<double>(i % 13);
  }
  Walk walk{AccessMix::read, Store::cached, arrays->a, arrays->b, arrays->c, count};
  EXPECT_EQ(run_walk(walk, 1), static_cast<double>(count * (count - 1) / 2)) << name;
  for (const Store store : {Store::cached, Store::past_caches}) {
    walk.store = store;
    for (const AccessMix mix : {AccessMix::triad, AccessMix::copy, AccessMix::write}) {
      walk.mix = mix;
      run_walk(walk, 1);
      for (std::int64_t i = 0; i < count; ++i) {
        const double triad = arrays->b[i] + 3 * arrays->c[i];
        const double copied = mix == AccessMix::copy ? arrays->b[i] : 3;
        ASSERT_EQ(arrays->a[i], mix == AccessMix::triad ? triad : copied) << name << ' ' << i;
      }
    }
  }
  for (const LaneUse use : {LaneUse::one, LaneUse::all}) {
    const std::vector<float> start(static_cast<std::size_t>(fma_elements(DType::fp32, use)), 2);
    std::vector<float> out(start.size());
    run_fma(DType::fp32, use, 3, start.data(), out.data());
    EXPECT_EQ(out, start) << name;
  }
}

TEST(CpuKernels, every_vector_unit_gives_the_same_results) {
  std::set<std::string> names;
  std::int64_t left = hwy::SupportedTargets();
  ASSERT_NE(left, 0);
  for (; left != 0; left &= left - 1) {
    const OnlyTarget only(left & -left);
    const std::string name = vector_unit().name;
    if (!names.insert(name).second) continue;  // one that is not built takes another's
    expect_right_results(name);
  }
  EXPECT_TRUE(names.count(vector_unit().name)) << "the one that is chosen was among them";
}

}  // namespace
}  // namespace strata::cpu
