// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/moving/movement.cuh"

/// Planes that become twice as high and twice as wide, as most networks that resize have it:
/// weights are known when the kernels are compiled, and a thread's numbers are neighbours.
namespace strata::cuda::train {

bool can_resize_by_two(const ResizeRun& run, const void* small, const void* large);
void resize_by_two(const ResizeRun& run, void* y, const void* x, cudaStream_t stream);
void resize_by_two_gradient(const ResizeRun& run, void* dx, const void* dy, cudaStream_t stream);

}  // namespace strata::cuda::train
