// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/elements/pointwise.cuh"

/// Normalisations, as functions that enqueue their kernels. Statistics are fp32, of fp64 fp64.
namespace strata::cuda::train {

/// Per channel of [rows, channels, inner]. scale and shift may be null.
struct BatchNormMemory {
  const void* x = nullptr;
  void* y = nullptr;
  const void* scale = nullptr;
  const void* shift = nullptr;
  void* running_mean = nullptr;
  void* running_variance = nullptr;
  void* statistics = nullptr;  ///< [channels][mean, 1/deviation]: left by forward
  void* scratch = nullptr;     ///< batch_norm_scratch numbers
  const void* dy = nullptr;
  void* dx = nullptr;  ///< these may be null
  void* scale_gradient = nullptr;
  void* shift_gradient = nullptr;
};
std::int64_t batch_norm_scratch(const ChannelArray& array);
void batch_norm(const ChannelArray& array, const BatchNormMemory& memory, cudaStream_t stream);
void batch_norm_of_running(const ChannelArray& array, const BatchNormMemory& memory,
                           cudaStream_t stream);
void batch_norm_gradient(const ChannelArray& array, const BatchNormMemory& memory,
                         cudaStream_t stream);

/// Rows of `length` numbers, each normalised by itself. Number j of row r is scaled by entry
/// (r mod groups) × length / inner + j / inner: inner is 1 for layers, the plane of a channel for
/// groups of channels.
struct RowNorm {
  std::int64_t rows = 1, length = 1, groups = 1, inner = 1;
  bool takes_mean = true;  ///< false: only the root of the mean square (RmsNorm)
  double epsilon = 0;
  DType dtype = DType::fp32;
  STRATA_HOST_AND_DEVICE std::int64_t entries() const { return groups * (length / inner); }
};
struct RowNormMemory {
  const void* x = nullptr;
  void* y = nullptr;
  const void* scale = nullptr;
  const void* shift = nullptr;
  void* statistics = nullptr;  ///< [rows][mean, 1/deviation]
  const void* dy = nullptr;
  void* dx = nullptr;  ///< these may be null
  void* scale_gradient = nullptr;
  void* shift_gradient = nullptr;
  void* scratch = nullptr;  ///< row_norm_scratch numbers, for the gradients of scale and shift
};
void row_norm(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream);
std::int64_t row_norm_scratch(const RowNorm& norm);
void row_norm_gradient(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream);
/// Whether x and dy are read once for all three gradients.
bool row_norm_gradient_is_one(const RowNorm& norm);

/// Across `size` neighbouring channels; `scale` keeps k + α/size Σx² in the data's type.
void local_response_norm(const ChannelArray& array, std::int64_t size, void* y, void* scale,
                         const void* x, cudaStream_t stream);
void local_response_norm_gradient(const ChannelArray& array, std::int64_t size, void* dx,
                                  const void* dy, const void* x, const void* y, const void* scale,
                                  cudaStream_t stream);

}  // namespace strata::cuda::train
