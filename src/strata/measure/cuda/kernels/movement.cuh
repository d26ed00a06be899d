// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/graph/operator_kinds.hpp"
#include "strata/measure/cuda/kernels/index_map.cuh"

#include <cuda_runtime_api.h>

/// Operators that put numbers elsewhere, as functions that enqueue kernels.
namespace strata::cuda::train {

/// to[strides 0] = from[strides 1] over the extents, of elements of so many bytes: a copy of memory
/// where both are contiguous, a tiled transpose where they run along different axes, else a strided
/// copy.
void copy_strided(void* to, const void* from, std::int64_t element_bytes, const StridedAxes& axes,
                  cudaStream_t stream);

/// [outer, choices, inner] by indices [count] → [outer, count, inner].
struct LookupRun {
  std::int64_t outer = 1, choices = 1, inner = 1, count = 1;
  bool indices_are_64_bit = true;
  DType dtype = DType::fp32;
};
void look_up(const LookupRun& run, void* y, const void* data, const void* indices,
             cudaStream_t stream);
/// Bytes of scratch memory in which the gradient of a 16-bit type is added up; 0 of fp32 and fp64.
std::int64_t look_up_scratch_bytes(const LookupRun& run);
void look_up_gradient(const LookupRun& run, void* gradient, const void* dy, const void* indices,
                      void* scratch, cudaStream_t stream);

/// Planes of up to three spatial axes (absent ones have extent 1 and come first).
struct ResizeRun {
  ResizeKind kind = ResizeKind::nearest;
  std::int64_t planes = 1;
  int in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  DType dtype = DType::fp32;
};
void resize(const ResizeRun& run, void* y, const void* x, cudaStream_t stream);
/// Each number of dx is one sum, in a fixed order.
void resize_gradient(const ResizeRun& run, void* dx, const void* dy, cudaStream_t stream);

}  // namespace strata::cuda::train
