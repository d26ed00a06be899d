// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/depthwise_kernels.hpp"
#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/convolution/cpu/spectrum_kernels.hpp"
#include "strata/convolution/cpu/winograd_kernels.hpp"

/// What each file of vector code offers for one kind of vector unit (per_target.hpp). The functions
/// of the same names in the headers above run the best of them.
namespace strata::cpu {

struct DirectKernels {
  void (*add_taps)(const TapSums&);
  void (*add_lanes)(const LaneSums&);
  void (*multiply_taps)(const TapProducts&);
  void (*multiply_pixels)(const PixelProducts&);
  void (*turn)(const TurnedMatrix&);
  std::int64_t (*block_width)();
  std::int64_t (*pixel_block)();
  std::int64_t (*lane_pixels)();
};

struct DepthwiseKernels {
  void (*copy_rows)(const RowCopies&);
  void (*split_rows)(const RowCopies&, float* const*);
  void (*sum_rows)(const RowSums&);
  void (*sum_rows_in_turn)(const RowSums&, const PlaneTaps&);
  void (*multiply_planes)(const PlaneProducts&);
};

struct SpectrumKernels {
  void (*join_rows)(const float*, const float*, std::int64_t, float*);
  void (*split_row)(const float*, std::int64_t, float, float*, float*);
  void (*store_spectrum)(const float*, std::int64_t, float*, std::int64_t);
  void (*load_spectrum)(const float*, std::int64_t, std::int64_t, float*);
  void (*multiply_spectra)(const SpectrumProduct&);
};

struct WinogradKernels {
  void (*transform_tiles)(int, TileTransform, const TileBatch&);
  void (*split_line)(int, const float*, std::int64_t, std::int64_t, float*, std::int64_t);
  void (*join_line)(int, const float*, std::int64_t, std::int64_t, float*);
};

}  // namespace strata::cpu
