// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The inner loops of convolutions whose channels do not mix, over planes whose rows lie one behind
/// the other: what is a shift in two dimensions is one offset there.
namespace strata::cpu {

/// Behind each array so many floats may be read and written: loops do whole vectors only.
inline constexpr std::int64_t room_behind_planes = 64;

/// result[i] = Σ weights[t] · sources[t][i]
struct PlaneSums {
  const float* const* sources = nullptr;
  const float* weights = nullptr;
  std::int64_t taps = 0;
  float* result = nullptr;
  std::int64_t count = 0;
};
void sum_planes(const PlaneSums& sums);

/// totals[t] += Σ gradient[i] · sources[t][i]; what is behind the gradient is zero.
struct PlaneProducts {
  const float* const* sources = nullptr;
  const float* gradient = nullptr;
  std::int64_t taps = 0;
  double* totals = nullptr;
  std::int64_t count = 0;
};
void multiply_planes(const PlaneProducts& products);

}  // namespace strata::cpu
