// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/view.cuh"
#include "strata/gpu/cuda/api.cuh"

/// The defining sum, from a patch of the images in shared memory; nothing else is stored.
namespace strata::cuda {

/// Shared memory of a block; beyond most_patch_bytes there is a slow kernel without a patch.
std::int64_t direct_patch_bytes(const ConvView& view);
std::int64_t direct_weight_patch_bytes(const ConvView& view);
inline constexpr std::int64_t most_patch_bytes = 160 << 10;

void direct_sum(const ConvView& view, const float* kernels, const float* images, float* results,
                cudaStream_t stream);

/// Parts of the batch that are summed beside each other; `sums`: as many of the weights' size.
int direct_parts(const ConvView& view);
void direct_weight_gradient(const ConvView& view, const float* images, const float* gradients,
                            int parts, float* sums, cudaStream_t stream);

const void* direct_kernel(const ConvView& view);
const void* direct_weight_kernel(const ConvView& view);

}  // namespace strata::cuda
