// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Transforms of Winograd tiles, one tile per lane of a vector.
namespace strata::cpu {

/// What is transformed, and by which matrix M: to = M·from·Mᵀ.
enum class TileTransform : std::uint8_t {
  input,            ///< Bᵀ: (m+2)² → (m+2)²
  weights,          ///< G: 3² → (m+2)²
  output,           ///< Aᵀ: (m+2)² → m²
  output_gradient,  ///< A: m² → (m+2)²
  weight_gradient,  ///< Gᵀ: (m+2)² → 3²
};

/// Sixteen tiles at once, for every vector unit: element e of tile t stands at from[e·from_step +
/// t].
struct TileBatch {
  const float* from = nullptr;
  std::int64_t from_step = 0;
  float* to = nullptr;
  std::int64_t to_step = 0;
};
inline constexpr std::int64_t tiles_per_batch = 16;

/// `tile`: 2 or 4, the m of F(m×m, 3×3).
void transform_tiles(int tile, TileTransform which, const TileBatch& batch);

/// What the file of vector code offers for one kind of vector unit (per_target.hpp).
struct WinogradKernels {
  void (*transform_tiles)(int, TileTransform, const TileBatch&);
};

}  // namespace strata::cpu
