// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/softmax.cuh"

namespace strata::cuda::train {
namespace {

/// Keys that a query sees.
__device__ std::int64_t seen_keys(const AttentionRows& rows, std::int64_t query) {
  if (!rows.is_causal) return rows.keys;
  const std::int64_t seen = query + rows.keys - rows.queries + 1;
  return seen < 0 ? 0 : (seen < rows.keys ? seen : rows.keys);
}

template <class T>
__global__ void attention_rows(AttentionRows rows, T* scores) {
  using A = Compute<T>;
  const std::int64_t query = blockIdx.x % rows.queries, head_batch = blockIdx.x / rows.queries;
  T* const row = scores + std::int64_t{blockIdx.x} * rows.keys;
  const std::int64_t seen = seen_keys(rows, query);
  const std::int64_t mask_base = head_batch / rows.heads * rows.mask_strides[0] +
                                 head_batch % rows.heads * rows.mask_strides[1] +
                                 query * rows.mask_strides[2];
  const auto score = [&](std::int64_t j) {
    A s = A(value(row[j])) * A(rows.scale);
    if (rows.mask != nullptr)
      s += A(value(static_cast<const T*>(rows.mask)[mask_base + j * rows.mask_strides[3]]));
    return s;
  };
  A most = A(-INFINITY);
  for (std::int64_t j = threadIdx.x; j < seen; j += blockDim.x) most = Larger{}(most, score(j));
  most = over_block(most, Larger{}, A(-INFINITY));
  A sum = 0;
  for (std::int64_t j = threadIdx.x; j < seen; j += blockDim.x) sum += exp(score(j) - most);
  sum = sum_over_block(sum);
  for (std::int64_t j = threadIdx.x; j < rows.keys; j += blockDim.x)
    row[j] = stored<T>(j < seen ? exp(score(j) - most) / sum : A(0));
}

template <class T>
__global__ void attention_rows_gradient(AttentionRows rows, T* dscores, const T* probabilities,
                                        Compute<T> factor) {
  using A = Compute<T>;
  const std::int64_t base = std::int64_t{blockIdx.x} * rows.keys;
  A sum = 0;
  for (std::int64_t j = threadIdx.x; j < rows.keys; j += blockDim.x)
    sum += A(value(dscores[base + j])) * A(value(probabilities[base + j]));
  sum = sum_over_block(sum);
  for (std::int64_t j = threadIdx.x; j < rows.keys; j += blockDim.x) {
    const A p = value(probabilities[base + j]);
    dscores[base + j] = stored<T>(p * (A(value(dscores[base + j])) - sum) * factor);
  }
}

int threads_for(std::int64_t length) {
  int threads = 32;
  while (threads < length / 4 && threads < 512) threads *= 2;
  return threads;
}

}  // namespace

void attention_softmax(const AttentionRows& rows, void* scores, cudaStream_t stream) {
  with_element_type(rows.dtype, [&](auto element) {
    using T = decltype(element);
    attention_rows<<<static_cast<unsigned>(rows.batch * rows.heads * rows.queries),
                     threads_for(rows.keys), 0, stream>>>(rows, static_cast<T*>(scores));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void attention_softmax_gradient(const AttentionRows& rows, void* dscores, const void* probabilities,
                                bool is_scaled, cudaStream_t stream) {
  with_element_type(rows.dtype, [&](auto element) {
    using T = decltype(element);
    attention_rows_gradient<<<static_cast<unsigned>(rows.batch * rows.heads * rows.queries),
                              threads_for(rows.keys), 0, stream>>>(
        rows, static_cast<T*>(dscores), static_cast<const T*>(probabilities),
        static_cast<Compute<T>>(is_scaled ? rows.scale : 1));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
