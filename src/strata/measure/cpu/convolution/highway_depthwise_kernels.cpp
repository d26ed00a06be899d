// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/convolution/kernel_tables.hpp"
#include "strata/measure/cpu/per_target.hpp"

// Vectors stand in arrays here; and every target costs seconds of compilation.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/cpu/convolution/highway_depthwise_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Vectors = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Vectors>;

constexpr std::int64_t vectors_at_once = 4;

void sum_planes(const PlaneSums& s) {
  const Vectors d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto sum_from = [&](std::int64_t i, auto many) HWY_ATTR {
    Vector sum[many];
    for (std::int64_t k = 0; k < many; ++k) sum[k] = hn::Zero(d);
    for (std::int64_t t = 0; t < s.taps; ++t) {
      const Vector weight = hn::Set(d, s.weights[t]);
      const float* const from = s.sources[t] + i;
      for (std::int64_t k = 0; k < many; ++k) {
        sum[k] = hn::MulAdd(weight, hn::LoadU(d, from + k * lanes), sum[k]);
      }
    }
    for (std::int64_t k = 0; k < many; ++k) hn::StoreU(sum[k], d, s.result + i + k * lanes);
  };
  std::int64_t i = 0;
  for (; i + vectors_at_once * lanes <= s.count; i += vectors_at_once * lanes) {
    sum_from(i, std::integral_constant<std::int64_t, vectors_at_once>());
  }
  for (; i < s.count; i += lanes) sum_from(i, std::integral_constant<std::int64_t, 1>());
}

/// `Taps` of them, their sums in registers.
template <int Taps>
void multiply_some(const PlaneProducts& p, std::int64_t first) {
  const Vectors d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vector sum[Taps];
  for (int t = 0; t < Taps; ++t) sum[t] = hn::Zero(d);
  for (std::int64_t i = 0; i < p.count; i += lanes) {
    const Vector gradient = hn::LoadU(d, p.gradient + i);
    for (int t = 0; t < Taps; ++t) {
      sum[t] = hn::MulAdd(gradient, hn::LoadU(d, p.sources[first + t] + i), sum[t]);
    }
  }
  for (int t = 0; t < Taps; ++t) {
    p.totals[first + t] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum[t])));
  }
}

void multiply_planes(const PlaneProducts& p) {
  std::int64_t t = 0;
  for (; t + 9 <= p.taps; t += 9) multiply_some<9>(p, t);
  for (; t + 3 <= p.taps; t += 3) multiply_some<3>(p, t);
  for (; t < p.taps; ++t) multiply_some<1>(p, t);
}

[[maybe_unused]] const bool is_added = compiled_kernels<DepthwiseKernels>().add(
    HWY_TARGET, {.sum_planes = sum_planes, .multiply_planes = multiply_planes});

}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::cpu {

void sum_planes(const PlaneSums& sums) { best_kernels<DepthwiseKernels>().sum_planes(sums); }
void multiply_planes(const PlaneProducts& products) {
  best_kernels<DepthwiseKernels>().multiply_planes(products);
}

}  // namespace strata::cpu
#endif
