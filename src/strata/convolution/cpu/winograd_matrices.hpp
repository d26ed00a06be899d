// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

/// Minimal filtering F(m×m, 3×3): a tile of (m+2)² inputs gives m² outputs with (m+2)² products.
///   output = Aᵀ[(G·weights·Gᵀ) ⊙ (Bᵀ·input·B)]A
/// Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), section 4.
/// The sum Σ output·weights·input that this evaluates is symmetric in its three factors, hence
///   weight gradient = Gᵀ[(A·output gradient·Aᵀ) ⊙ (Bᵀ·input·B)]G
/// which is minimal filtering F(3×3, m×m).
namespace strata::cpu {

template <std::size_t Rows, std::size_t Columns>
using TileMatrix = std::array<std::array<float, Columns>, Rows>;

template <std::size_t Rows, std::size_t Columns>
constexpr TileMatrix<Columns, Rows> transposed(const TileMatrix<Rows, Columns>& matrix) {
  TileMatrix<Columns, Rows> result{};
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t c = 0; c < Columns; ++c) result[c][r] = matrix[r][c];
  }
  return result;
}

template <int Tile>
struct Winograd;

template <>
struct Winograd<2> {
  static constexpr TileMatrix<4, 4> input = {
      {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}}};  // Bᵀ
  static constexpr TileMatrix<4, 3> weights = {
      {{1, 0, 0}, {0.5F, 0.5F, 0.5F}, {0.5F, -0.5F, 0.5F}, {0, 0, 1}}};         // G
  static constexpr TileMatrix<2, 4> output = {{{1, 1, 1, 0}, {0, 1, -1, -1}}};  // Aᵀ
};

template <>
struct Winograd<4> {
  static constexpr TileMatrix<6, 6> input = {{{4, 0, -5, 0, 1, 0},
                                              {0, -4, -4, 1, 1, 0},
                                              {0, 4, -4, -1, 1, 0},
                                              {0, -2, -1, 2, 1, 0},
                                              {0, 2, -1, -2, 1, 0},
                                              {0, 4, 0, -5, 0, 1}}};
  static constexpr TileMatrix<6, 3> weights = {{{1.0F / 4, 0, 0},
                                                {-1.0F / 6, -1.0F / 6, -1.0F / 6},
                                                {-1.0F / 6, 1.0F / 6, -1.0F / 6},
                                                {1.0F / 24, 1.0F / 12, 1.0F / 6},
                                                {1.0F / 24, -1.0F / 12, 1.0F / 6},
                                                {0, 0, 1}}};
  static constexpr TileMatrix<4, 6> output = {
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
};

}  // namespace strata::cpu
