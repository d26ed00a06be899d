// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/winograd_kernels.hpp"
#include "strata/convolution/cpu/winograd_matrices.hpp"
#include "strata/cpu/per_target.hpp"

// Vectors stand in arrays here; and every target costs seconds of compilation.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/convolution/cpu/highway_winograd_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Vectors = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Vectors>;

/// The sum of factor·value; factors are constants once the loops are unrolled, so that zeros and
/// ones cost nothing.
template <std::size_t Columns>
HWY_INLINE Vector row_sum(const std::array<float, Columns>& factors, const Vector* values) {
  const Vectors d;
  Vector sum = hn::Zero(d);
  bool is_first = true;
#pragma GCC unroll 8
  for (std::size_t c = 0; c < Columns; ++c) {
    const float factor = factors[c];
    if (factor == 0) continue;
    if (is_first) {
      sum = factor == 1 ? values[c] : hn::Mul(hn::Set(d, factor), values[c]);
    } else if (factor == 1) {
      sum = hn::Add(sum, values[c]);
    } else if (factor == -1) {
      sum = hn::Sub(sum, values[c]);
    } else {
      sum = hn::MulAdd(hn::Set(d, factor), values[c], sum);
    }
    is_first = false;
  }
  return sum;
}

template <class Matrix, std::size_t Rows, std::size_t Columns>
void transform(const TileBatch& b) {
  const Vectors d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr auto matrix = Matrix::value;
  for (std::int64_t t = 0; t < tiles_per_batch; t += lanes) {
    Vector half[Rows][Columns];
    for (std::size_t c = 0; c < Columns; ++c) {
      Vector column[Columns];
      for (std::size_t r = 0; r < Columns; ++r) {
        column[r] =
            hn::LoadU(d, b.from + static_cast<std::int64_t>(r * Columns + c) * b.from_step + t);
      }
#pragma GCC unroll 8
      for (std::size_t r = 0; r < Rows; ++r) half[r][c] = row_sum(matrix[r], column);
    }
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (std::size_t c = 0; c < Rows; ++c) {
        hn::StoreU(row_sum(matrix[c], half[r]), d,
                   b.to + static_cast<std::int64_t>(r * Rows + c) * b.to_step + t);
      }
    }
  }
}

// The matrices as types, so that they are constants within the loops.
template <int Tile>
struct InputMatrix {
  static constexpr auto value = Winograd<Tile>::input;
};
template <int Tile>
struct WeightMatrix {
  static constexpr auto value = Winograd<Tile>::weights;
};
template <int Tile>
struct OutputMatrix {
  static constexpr auto value = Winograd<Tile>::output;
};
template <int Tile>
struct OutputGradientMatrix {
  static constexpr auto value = transposed(Winograd<Tile>::output);
};
template <int Tile>
struct WeightGradientMatrix {
  static constexpr auto value = transposed(Winograd<Tile>::weights);
};

template <int Tile>
void transform_by(TileTransform which, const TileBatch& batch) {
  constexpr std::size_t m = Tile;
  constexpr std::size_t n = Tile + 2;
  switch (which) {
    case TileTransform::input: return transform<InputMatrix<Tile>, n, n>(batch);
    case TileTransform::weights: return transform<WeightMatrix<Tile>, n, 3>(batch);
    case TileTransform::output: return transform<OutputMatrix<Tile>, m, n>(batch);
    case TileTransform::output_gradient: return transform<OutputGradientMatrix<Tile>, n, m>(batch);
    case TileTransform::weight_gradient: return transform<WeightGradientMatrix<Tile>, 3, n>(batch);
  }
}

void transform_tiles(int tile, TileTransform which, const TileBatch& batch) {
  if (tile == 2) return transform_by<2>(which, batch);
  transform_by<4>(which, batch);
}

}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace strata::cpu::HWY_NAMESPACE {
namespace {
[[maybe_unused]] const bool is_listed =
    compiled_kernels<WinogradKernels>().add(HWY_TARGET, {transform_tiles});
}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE

#if HWY_ONCE
namespace strata::cpu {

void transform_tiles(int tile, TileTransform which, const TileBatch& batch) {
  best_kernels<WinogradKernels>().transform_tiles(tile, which, batch);
}

}  // namespace strata::cpu
#endif  // HWY_ONCE
