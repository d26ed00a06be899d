// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cuda/shared_kernels.cuh"
#include "strata/gpu/cuda/api.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace strata::cuda {
namespace {

constexpr int threads = 256;

unsigned blocks_for(std::int64_t items) {
  return static_cast<unsigned>((items + threads - 1) / threads);
}

__global__ void flip_kernel(const float* __restrict__ weights, float* __restrict__ flipped,
                            int filters_per_group, int channels_per_group, int window,
                            int elements) {
  const int i = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
  if (i >= elements) return;
  const int at = i % window;
  const int filter = i / window % filters_per_group;
  const int channel = i / window / filters_per_group;
  const int group = channel / channels_per_group;
  const int from =
      ((group * filters_per_group + filter) * channels_per_group + channel % channels_per_group) *
          window +
      window - 1 - at;
  flipped[i] = weights[from];
}

template <class Out>
__global__ void add_parts_kernel(const float* __restrict__ parts, int count, std::int64_t elements,
                                 Out* __restrict__ out) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= elements) return;
  float sum = 0;
  for (int part = 0; part < count; ++part) sum += parts[part * elements + i];
  out[i] = static_cast<Out>(sum);
}

}  // namespace

void flip_kernels(const ConvShape& shape, const float* weights, float* flipped,
                  cudaStream_t stream) {
  const int elements = static_cast<int>(shape.weight_elements());
  flip_kernel<<<blocks_for(elements), threads, 0, stream>>>(
      weights, flipped, static_cast<int>(shape.filters / shape.groups),
      static_cast<int>(shape.channels / shape.groups),
      static_cast<int>(shape.kernel_height * shape.kernel_width), elements);
  STRATA_CUDA_CALL(cudaGetLastError());
}

void add_parts(const float* parts, int count, std::int64_t elements, void* out, DType out_type,
               cudaStream_t stream) {
  const unsigned blocks = blocks_for(elements);
  if (out_type == DType::fp16) {
    add_parts_kernel<<<blocks, threads, 0, stream>>>(parts, count, elements,
                                                     static_cast<__half*>(out));
  } else if (out_type == DType::bf16) {
    add_parts_kernel<<<blocks, threads, 0, stream>>>(parts, count, elements,
                                                     static_cast<__nv_bfloat16*>(out));
  } else {
    add_parts_kernel<<<blocks, threads, 0, stream>>>(parts, count, elements,
                                                     static_cast<float*>(out));
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda
