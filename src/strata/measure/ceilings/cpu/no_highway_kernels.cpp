// SPDX-License-Identifier: Apache-2.0
// Stands for highway_kernels.cpp in a build without Highway: plain C++, as wide as the compiler's
// baseline.
#include "strata/cpu/baseline_vectors.hpp"
#include "strata/measure/ceilings/cpu/kernels.hpp"

#include <array>
#include <cmath>

namespace strata::cpu {
namespace {

constexpr std::int64_t plain_chains = 8;

template <class T>
constexpr std::int64_t plain_lanes = baseline_vector_bits / 8 /
                                     static_cast<std::int64_t>(sizeof(T));

/// With the number of elements known the compiler keeps them in registers, lane beside lane.
template <class T, std::int64_t count>
void plain_multiply_add(std::int64_t double_steps, const T* start, T* out) {
  std::array<T, count> x;
  for (std::int64_t i = 0; i < count; ++i) x[i] = start[i];
  T factor = -1, constant = 7;
  asm volatile("" : "+m"(factor), "+m"(constant));  // not known to the compiler
  for (std::int64_t step = 0; step < 2 * double_steps; ++step) {
    for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] * factor + constant;
  }
  for (std::int64_t i = 0; i < count; ++i) out[i] = x[i];
}

template <class T>
void plain_fma(LaneUse use, std::int64_t double_steps, const void* start, void* out) {
  const T* from = static_cast<const T*>(start);
  T* to = static_cast<T*>(out);
  if (use == LaneUse::one) return plain_multiply_add<T, plain_chains>(double_steps, from, to);
  plain_multiply_add<T, plain_chains * plain_lanes<T>>(double_steps, from, to);
}

double plain_sum(const double* a, std::int64_t count) {
  std::array<double, 16> sums{};
  for (std::int64_t at = 0; at < count; at += 16) {
    for (std::int64_t i = 0; i < 16; ++i) sums[i] += a[at + i];
  }
  double sum = 0;
  for (const double each : sums) sum += each;
  return sum;
}

double plain_loop(const BandwidthLoop& loop) {
  double* __restrict a = loop.a;
  switch (loop.mix) {
    case AccessMix::read: return plain_sum(a, loop.count);
    case AccessMix::write:
      for (std::int64_t i = 0; i < loop.count; ++i) a[i] = triad_factor;
      break;
    case AccessMix::copy:
      for (std::int64_t i = 0; i < loop.count; ++i) a[i] = loop.b[i];
      break;
    case AccessMix::triad: stream_triad(loop.a, loop.b, loop.c, loop.count); break;
  }
  return 0;
}

}  // namespace

std::int64_t fma_elements(DType dtype, LaneUse use) {
  if (use == LaneUse::one) return plain_chains;
  return plain_chains * (dtype == DType::fp64 ? plain_lanes<double> : plain_lanes<float>);
}

void run_fma(DType dtype, LaneUse use, std::int64_t double_steps, const void* start, void* out) {
  if (dtype == DType::fp64) return plain_fma<double>(use, double_steps, start, out);
  plain_fma<float>(use, double_steps, start, out);
}

bool has_non_temporal_stores() { return false; }
bool can_prefetch() { return false; }

double run_bandwidth_loop(const BandwidthLoop& loop, std::int64_t passes) {
  double sum = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    sum += plain_loop(loop);
    asm volatile("" ::: "memory");  // each pass is a pass
  }
  return sum;
}

}  // namespace strata::cpu
