// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/pooling/pool.cuh"

/// Averages of whole planes, with which most classifiers end.
namespace strata::cuda::train {

bool is_global_average(const PoolRun& run);

void average_planes(const PoolRun& run, void* y, const void* x, cudaStream_t stream);
void average_planes_gradient(const PoolRun& run, void* dx, const void* dy, cudaStream_t stream);

}  // namespace strata::cuda::train
