// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/pooling/pool.cuh"

/// Pooling of 2×2 with a stride of 2 and of 3×3 with one of 1 or 2 in planes, which most networks
/// have: kernels that are compiled for the window load all that a thread needs at once, and note
/// where a maximum came from in a byte.
namespace strata::cuda::train {

bool is_small_window(const PoolRun& run);

/// `notes`: of maxima, a byte for each result; null where nobody asks.
void pool_small_windows(const PoolRun& run, void* y, std::uint8_t* notes, const void* x,
                        cudaStream_t stream);
void pool_small_windows_gradient(const PoolRun& run, void* dx, const void* dy,
                                 const std::uint8_t* notes, cudaStream_t stream);

}  // namespace strata::cuda::train
