// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/winograd_matrices.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace strata::cpu {
namespace {

/// The factors of all weights are multiples of 1/24, so that 24 times every sum is a whole number.
template <int Tile>
long long whole(float factor) {
  const double scaled = 24.0 * static_cast<double>(factor);
  EXPECT_NEAR(scaled, std::round(scaled), 1e-5);
  return std::llround(scaled);
}

/// Aᵀ[(G·g) ⊙ (Bᵀ·d)] for unit vectors g = e_i and d = e_j is 1 at output j − i and 0 elsewhere.
/// The algorithm is linear in both, so that these cases are all cases.
template <int Tile>
void check_against_the_definition() {
  constexpr std::size_t side = Tile + 2;
  const auto& input = Winograd<Tile>::input;
  const auto& weights = Winograd<Tile>::weights;
  const auto& output = Winograd<Tile>::output;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < side; ++j) {
      for (std::size_t k = 0; k < Tile; ++k) {
        long long sum = 0;
        for (std::size_t p = 0; p < side; ++p) {
          sum +=
              std::llround(output[k][p]) * whole<Tile>(weights[p][i]) * std::llround(input[p][j]);
        }
        EXPECT_EQ(sum, k + i == j ? 24 : 0) << Tile << " " << i << " " << j << " " << k;
      }
    }
  }
}

TEST(Winograd, tiles_of_2_are_the_definition) { check_against_the_definition<2>(); }
TEST(Winograd, tiles_of_4_are_the_definition) { check_against_the_definition<4>(); }

}  // namespace
}  // namespace strata::cpu
