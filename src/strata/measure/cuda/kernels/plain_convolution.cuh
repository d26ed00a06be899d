// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/operators/convolution_request.cuh"

#include <cuda_runtime_api.h>

namespace strata::cuda::train {

/// Enqueues any convolution, by the defining sum. Slow, and always right.
void plain_convolution(const ConvRequest& request, const ConvTensors& tensors, cudaStream_t stream);

}  // namespace strata::cuda::train
