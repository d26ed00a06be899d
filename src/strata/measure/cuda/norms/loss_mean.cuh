// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/element.cuh"

/// The end of a loss. For nvcc only.
namespace strata::cuda::train {

/// One block adds what others left.
template <class T>
__global__ void mean_of(T* result, const Compute<T>* parts, std::int64_t count,
                        Compute<T> divisor) {
  Compute<T> sum = 0;
#pragma unroll 8
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += parts[i];
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) *result = stored<T>(sum / divisor);
}

template <class T>
void launch_mean(T* result, const Compute<T>* parts, std::int64_t count, std::int64_t divisor,
                 cudaStream_t stream) {
  mean_of<<<1, 1024, 0, stream>>>(result, parts, count, static_cast<Compute<T>>(divisor));
}

}  // namespace strata::cuda::train
