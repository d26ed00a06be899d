// SPDX-License-Identifier: Apache-2.0
// The loops that are meant to be what a compiler makes of plain C++.
#include "strata/measure/ceilings/cpu/kernels.hpp"

namespace strata::cpu {

void stream_triad(double* __restrict a, const double* __restrict b, const double* __restrict c,
                  std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] + triad_factor * c[i];
}

namespace {

/// The empty instruction takes x away from the compiler, which otherwise would multiply. Both are
/// in registers: additions of a constant cost nothing on CPUs that fold them while renaming.
template <int count>
inline void add_times(std::uint64_t& x, std::uint64_t step) {
  x += step;
  asm volatile("" : "+r"(x));
  if constexpr (count > 1) add_times<count - 1>(x, step);
}

}  // namespace

std::uint64_t add_in_a_chain(std::int64_t rounds, std::uint64_t step) {
  std::uint64_t x = 0;
  asm volatile("" : "+r"(step));
  for (std::int64_t round = 0; round < rounds; ++round) add_times<adds_per_round>(x, step);
  return x;
}

}  // namespace strata::cpu
