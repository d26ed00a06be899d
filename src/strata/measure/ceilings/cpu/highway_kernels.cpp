// SPDX-License-Identifier: Apache-2.0
// The kernels for each kind of vector unit; foreach_target.h reads this file once for each. Every
// target costs seconds of compilation, so those are left out that differ from another only in
// instructions that are not used here.
#include "strata/measure/ceilings/cpu/highway_kernels.hpp"

#include "strata/cpu/per_target.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/ceilings/cpu/highway_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <initializer_list>

HWY_BEFORE_NAMESPACE();
namespace strata::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// As many as the registers hold beside the three constants: an FMA that takes 4 clocks, on 4 units
/// as some cores have them, needs 16 at once. Of 16, gcc copies two in each turn for Arm, which
/// takes longer than the two that are left out.
#undef STRATA_MORE_CHAINS
#if HWY_ARCH_X86 && HWY_TARGET != HWY_AVX3
#define STRATA_MORE_CHAINS(each)
inline constexpr std::int64_t chains = 12;
#elif HWY_ARCH_ARM
#define STRATA_MORE_CHAINS(each) each(12) each(13)
inline constexpr std::int64_t chains = 14;
#else
#define STRATA_MORE_CHAINS(each) each(12) each(13) each(14) each(15)
inline constexpr std::int64_t chains = 16;
#endif
#define STRATA_CHAINS(each)                                                                \
  each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7) each(8) each(9) each(10) \
      each(11) STRATA_MORE_CHAINS(each)

// Vectors of a size that only the CPU knows cannot stand in an array, hence the names.
template <class D>
void multiply_add(D d, std::int64_t double_steps, const hn::TFromD<D>* start, hn::TFromD<D>* out) {
  using T = hn::TFromD<D>;
  const auto lanes = hn::Lanes(d);
  T factor = -1;
  HWY_ALIGN T constants[hn::MaxLanes(d)], opposites[hn::MaxLanes(d)];
  std::fill_n(constants, lanes, T(7));
  std::fill_n(opposites, lanes, T(-7));
  asm volatile("" : "+m"(factor));  // not known to the compiler
  const auto a = hn::Set(d, factor);
// The chain is what is added to, which all vector units do without a copy.
#define STRATA_LOAD(i) auto x##i = hn::LoadU(d, start + i * lanes);
#define STRATA_STEP(i) x##i = hn::MulAdd(a, b, x##i);
#define STRATA_STEP_BACK(i) x##i = hn::MulAdd(a, c, x##i);
#define STRATA_STORE(i) hn::StoreU(x##i, d, out + i * lanes);
  STRATA_CHAINS(STRATA_LOAD)
  for (std::int64_t step = 0; step < double_steps; ++step) {
    // Loaded anew, as in products of matrices: a Neoverse V1 starts 3.9 multiply-adds a clock then,
    // but 2 where both factors have been in registers for long.
    asm volatile("" : "+m"(constants), "+m"(opposites));
    const auto b = hn::Load(d, constants), c = hn::Load(d, opposites);
    STRATA_CHAINS(STRATA_STEP)
    STRATA_CHAINS(STRATA_STEP_BACK)
  }
  STRATA_CHAINS(STRATA_STORE)
}

template <class T>
std::int64_t elements(LaneUse use) {
  const hn::ScalableTag<T> d;
  return chains * (use == LaneUse::one ? 1 : static_cast<std::int64_t>(hn::Lanes(d)));
}

std::int64_t elements_of(DType dtype, LaneUse use) {
  return dtype == DType::fp64 ? elements<double>(use) : elements<float>(use);
}

template <class T>
void multiply_add_lanes(LaneUse use, std::int64_t double_steps, const void* start, void* out) {
  const T* from = static_cast<const T*>(start);
  T* to = static_cast<T*>(out);
  if (use == LaneUse::one) return multiply_add(hn::CappedTag<T, 1>(), double_steps, from, to);
  multiply_add(hn::ScalableTag<T>(), double_steps, from, to);
}

void fma_of(DType dtype, LaneUse use, std::int64_t double_steps, const void* start, void* out) {
  if (dtype == DType::fp64) return multiply_add_lanes<double>(use, double_steps, start, out);
  multiply_add_lanes<float>(use, double_steps, start, out);
}

#define STRATA_EIGHT(each) each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7)

/// Asks for the lines of `vectors` that are read some way after place `at`.
template <Prefetch prefetch, class D>
HWY_INLINE void prefetch_ahead(D d, const double* from, std::int64_t at, std::int64_t vectors) {
  if constexpr (prefetch == Prefetch::ahead) {
    constexpr std::int64_t ahead = 16384 / 8, line = 64 / 8;
    const std::int64_t count = vectors * static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t i = 0; i < count; i += line) __builtin_prefetch(from + at + ahead + i, 0, 1);
  }
}

/// Eight sums, for an addition takes up to 4 clocks and up to two start in each.
template <Prefetch prefetch>
double sum_of(const double* a, std::int64_t count) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
#define STRATA_ZERO(i) auto s##i = hn::Zero(d);
#define STRATA_ADD(i) s##i = hn::Add(s##i, hn::Load(d, a + at + i * lanes));
  STRATA_EIGHT(STRATA_ZERO)
  for (std::int64_t at = 0; at < count; at += 8 * lanes) {
    prefetch_ahead<prefetch>(d, a, at, 8);
    STRATA_EIGHT(STRATA_ADD)
  }
  const auto low = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  const auto high = hn::Add(hn::Add(s4, s5), hn::Add(s6, s7));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
}

/// `value(at)` is the vector for place `at`, made of numbers of `from`.
template <Store store, Prefetch prefetch, class D, class Value>
HWY_INLINE void fill_with(D d, double* a, std::int64_t count,
                          std::initializer_list<const double*> from, const Value& value) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t at = 0; at < count; at += 4 * lanes) {
    for (const double* each : from) prefetch_ahead<prefetch>(d, each, at, 4);
    for (std::int64_t i = 0; i < 4; ++i) {
      const auto vector = value(at + i * lanes);
      if constexpr (store == Store::non_temporal) {
        hn::Stream(vector, d, a + at + i * lanes);
      } else {
        hn::Store(vector, d, a + at + i * lanes);
      }
    }
  }
}

template <Store store, Prefetch prefetch>
double loop_once(const BandwidthLoop& loop) {
  const hn::ScalableTag<double> d;
  const auto factor = hn::Set(d, triad_factor);
  switch (loop.mix) {
    case AccessMix::read: return sum_of<prefetch>(loop.a, loop.count);
    case AccessMix::write:
      fill_with<store, prefetch>(d, loop.a, loop.count, {},
                                 [&](std::int64_t) HWY_ATTR { return factor; });
      break;
    case AccessMix::copy:
      fill_with<store, prefetch>(d, loop.a, loop.count, {loop.b}, [&](std::int64_t at) HWY_ATTR {
        return hn::Load(d, loop.b + at);
      });
      break;
    case AccessMix::triad:
      fill_with<store, prefetch>(
          d, loop.a, loop.count, {loop.b, loop.c}, [&](std::int64_t at) HWY_ATTR {
            return hn::MulAdd(hn::Load(d, loop.c + at), factor, hn::Load(d, loop.b + at));
          });
      break;
  }
  return 0;
}

template <Store store>
double loop_with_prefetch(const BandwidthLoop& loop) {
  return loop.prefetch == Prefetch::ahead ? loop_once<store, Prefetch::ahead>(loop)
                                          : loop_once<store, Prefetch::none>(loop);
}

double run_loop(const BandwidthLoop& loop, std::int64_t passes) {
  const bool is_non_temporal = loop.store == Store::non_temporal;
  double sum = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    sum += is_non_temporal ? loop_with_prefetch<Store::non_temporal>(loop)
                           : loop_with_prefetch<Store::cached>(loop);
    asm volatile("" ::: "memory");  // each pass is a pass
  }
  if (is_non_temporal) hwy::FlushStream();
  return sum;
}

int bits_here() { return static_cast<int>(hn::Lanes(hn::ScalableTag<double>())) * 64; }

// Data, no code: it is read on CPUs that could not run a line of this namespace. For the same
// reason nothing of the standard library is used in it, whose inline functions the whole program
// shares.
inline constexpr std::int64_t this_target = HWY_TARGET;
inline constexpr bool has_fma_here = HWY_NATIVE_FMA != 0;

}  // namespace strata::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace strata::cpu {
namespace HWY_NAMESPACE {
namespace {
[[maybe_unused]] const bool is_listed =
    compiled_kernels<TargetKernels>().add(this_target, {.name = hwy::TargetName(this_target),
                                                        .has_fma = has_fma_here,
                                                        .bits = bits_here,
                                                        .elements = elements_of,
                                                        .fma = fma_of,
                                                        .bandwidth_loop = run_loop});
}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace strata::cpu

#if HWY_ONCE
namespace strata::cpu {

namespace {

const TargetKernels& chosen() { return kernels_for_this_cpu().front(); }

}  // namespace

std::span<const TargetKernels> kernels_for_this_cpu() {
  static const std::vector<TargetKernels> usable = compiled_kernels<TargetKernels>().usable();
  return usable;
}

std::int64_t fma_elements(DType dtype, LaneUse use) { return chosen().elements(dtype, use); }

void run_fma(DType dtype, LaneUse use, std::int64_t double_steps, const void* start, void* out) {
  chosen().fma(dtype, use, double_steps, start, out);
}

bool has_non_temporal_stores() { return HWY_ARCH_X86 != 0; }
bool can_prefetch() { return true; }

double run_bandwidth_loop(const BandwidthLoop& loop, std::int64_t passes) {
  return chosen().bandwidth_loop(loop, passes);
}

}  // namespace strata::cpu
#endif
