// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/convolutions/convolution_request.cuh"

#include <cuda_runtime_api.h>

/// Convolutions that need no library, as functions that enqueue their kernels.
namespace strata::cuda::train {

/// Any convolution, by the defining sum. Slow, and always right.
void plain_convolution(const ConvRequest& request, const void* input, const void* weights,
                       const void* output, void* result, cudaStream_t stream);

/// Some numbers of the result, in double precision, to hold other ways against.
inline constexpr int reference_samples = 256;
void sample_reference(const ConvRequest& request, const void* input, const void* weights,
                      const void* output, double* references, cudaStream_t stream);
/// For each sample what the result has there.
void sample_result(const ConvRequest& request, const void* result, double* found,
                   cudaStream_t stream);

/// Depthwise: ConvRequest::is_depthwise. The gradient of the weights needs scratch memory.
std::int64_t depthwise_scratch_bytes(const ConvRequest& request);
void depthwise_convolution(const ConvRequest& request, const void* input, const void* weights,
                           const void* output, void* result, void* scratch, cudaStream_t stream);

}  // namespace strata::cuda::train
