// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/convolution/cudnn/functions.cuh"
#include "strata/measure/cuda/training/convolutions.cuh"

namespace strata::cuda::train {

using Cudnn = std::shared_ptr<const CudnnFunctions>;

/// The algorithms that cuDNN's older interface names: implicit_gemm, fft, winograd_nonfused, …
void add_named_algorithms(ConvRunners& list, const Cudnn& cudnn, const ConvRequest& request,
                          std::int64_t most_scratch);
/// The engines of its graph interface: those that its heuristics propose, then all others.
void add_engines(ConvRunners& list, const Cudnn& cudnn, const ConvRequest& request,
                 std::int64_t most_scratch);

inline cudnnDataType_t cudnn_data_type(DType dtype) {
  switch (dtype) {
    case DType::fp64: return CUDNN_DATA_DOUBLE;
    case DType::fp16: return CUDNN_DATA_HALF;
    case DType::bf16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

/// cuDNN's Winograd with 5×5 windows is worse than 1e-3 in fp32.
inline bool loses_digits_with_winograd(const ConvRequest& request) {
  return request.kernel[1] >= 5 || request.kernel[2] >= 5;
}

}  // namespace strata::cuda::train
