// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/view.cuh"

#include <cuda_runtime_api.h>

/// Small kernels that several strategies need.
namespace strata::cuda {

/// [filters][channels/groups][kh][kw] → [channels][filters/groups][kh][kw], each kernel flipped in
/// both axes: the kernels of the gradient of the input.
void flip_kernels(const ConvShape& shape, const float* weights, float* flipped,
                  cudaStream_t stream);

/// out[i] = Σ parts[j × elements + i], j below `parts`. Result types: fp32, fp16, bf16.
void add_parts(const float* parts, int count, std::int64_t elements, void* out, DType out_type,
               cudaStream_t stream);

}  // namespace strata::cuda
