// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/measure/engine/constants.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

/// Plain normalisations, as functions that enqueue their kernels: of groups of channels, and of
/// shapes and types that cuDNN refuses. Statistics are fp32, of fp64 fp64.
namespace strata::cuda::train {

/// [rows, channels, inner], each channel normalised by itself: for tensors of 16 bits, of which
/// cuDNN wants the weights in fp32 (PyTorch has kernels of its own there, too).
struct BatchNormRun {
  std::int64_t rows = 1, channels = 1, inner = 1;
  DType dtype = DType::fp32;
};
struct BatchNormMemory {
  const void* x = nullptr;
  void* y = nullptr;
  const void* scale = nullptr;  ///< scale and shift may be null
  const void* shift = nullptr;
  void* running_mean = nullptr;
  void* running_variance = nullptr;
  void* statistics = nullptr;  ///< [channels][mean, 1/deviation]
  void* sums = nullptr;        ///< [channels][2], of the gradient
  const void* dy = nullptr;
  void* dx = nullptr;  ///< gradients may be null
  void* scale_gradient = nullptr;
  void* shift_gradient = nullptr;
};
void batch_norm(const BatchNormRun& run, const BatchNormMemory& memory, bool is_training,
                cudaStream_t stream);
void batch_norm_gradient(const BatchNormRun& run, const BatchNormMemory& memory,
                         cudaStream_t stream);

/// Rows of `length` numbers, each normalised by itself. Number j of row r is scaled by entry
/// (r mod groups) × length / inner + j / inner: inner is 1 for layers, the plane of a channel for
/// groups of channels.
struct RowNorm {
  std::int64_t rows = 1, length = 1, groups = 1, inner = 1;
  bool takes_mean = true;  ///< false: only the root of the mean square (RmsNorm)
  double epsilon = 0;
  DType dtype = DType::fp32;
  STRATA_HOST_AND_DEVICE std::int64_t group_entries() const { return length / inner; }
  STRATA_HOST_AND_DEVICE std::int64_t entries() const { return groups * group_entries(); }
  std::int64_t samples() const { return rows / groups; }
};
struct RowNormMemory {
  const void* x = nullptr;
  void* y = nullptr;
  const void* scale = nullptr;  ///< scale and shift may be null
  const void* shift = nullptr;
  void* statistics = nullptr;  ///< [rows][mean, 1/deviation]; null: not kept
  const void* dy = nullptr;
  void* dx = nullptr;  ///< gradients may be null
  void* scale_gradient = nullptr;
  void* shift_gradient = nullptr;
  void* scratch = nullptr;  ///< row_norm_scratch_bytes, for the gradients of scale and shift
};
void row_norm(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream);
std::int64_t row_norm_scratch_bytes(const RowNorm& norm);
void row_norm_gradient(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream);

/// [rows, channels, inner], across `size` neighbouring channels: size / 2 before and the rest
/// after.
struct LocalResponseRun {
  std::int64_t rows = 1, channels = 1, inner = 1, size = 1;
  DType dtype = DType::fp32;
};
void local_response_norm(const LocalResponseRun& run, void* y, const void* x, cudaStream_t stream);
void local_response_norm_gradient(const LocalResponseRun& run, void* dx, const void* dy,
                                  const void* x, cudaStream_t stream);

}  // namespace strata::cuda::train
