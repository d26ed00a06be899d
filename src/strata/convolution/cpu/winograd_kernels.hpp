// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Transforms of many Winograd tiles at once, one tile per lane.
namespace strata::cpu {

/// What is transformed, and by which matrix M: to = M·from·Mᵀ.
enum class TileTransform : std::uint8_t {
  input,            ///< Bᵀ: (m+2)² → (m+2)²
  weights,          ///< G: 3² → (m+2)²
  output,           ///< Aᵀ: (m+2)² → m²
  output_gradient,  ///< A: m² → (m+2)²
  weight_gradient,  ///< Gᵀ: (m+2)² → 3²
};

/// Element e of tile t stands at from[e·from_step + t]. Reads and writes whole vectors: up to 15
/// floats beyond `count` of every element.
struct TileBatch {
  const float* from = nullptr;
  std::int64_t from_step = 0;
  float* to = nullptr;
  std::int64_t to_step = 0;
  std::int64_t count = 0;
};
void transform_tiles(int tile, TileTransform which, const TileBatch& batch);

/// to[j·step + t] = line[t·tile + j] for t < count and j < elements; whole vectors, as above.
void split_line(int tile, const float* line, std::int64_t count, std::int64_t elements, float* to,
                std::int64_t step);

/// line[t·tile + j] = from[j·step + t] for j < tile; whole vectors.
void join_line(int tile, const float* from, std::int64_t step, std::int64_t count, float* line);

}  // namespace strata::cpu
