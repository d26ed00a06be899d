// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/norms/loss_mean.cuh"
#include "strata/measure/cuda/norms/row_registers.cuh"
#include "strata/measure/cuda/norms/softmax.cuh"

namespace strata::cuda::train {
namespace {

template <class T, int width>
__global__ void __launch_bounds__(threads_per_block)
    squares(Compute<T>* partials, const T* a, const T* b, std::int64_t pieces) {
  using A = Compute<T>;
  using P = Items<T, width>;
  A sum = 0;
#pragma unroll 4
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < pieces;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const P pa = reinterpret_cast<const P*>(a)[i], pb = reinterpret_cast<const P*>(b)[i];
#pragma unroll
    for (int j = 0; j < width; ++j) {
      const A d = A(value(pa.item[j])) - A(value(pb.item[j]));
      sum += d * d;
    }
  }
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

template <class T, int width>
__global__ void __launch_bounds__(threads_per_block)
    squares_gradient(T* da, T* db, const T* a, const T* b, const T* dloss, std::int64_t pieces) {
  using A = Compute<T>;
  using P = Items<T, width>;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= pieces) return;
  const P pa = reinterpret_cast<const P*>(a)[i], pb = reinterpret_cast<const P*>(b)[i];
  const A share = A(2) * A(value(*dloss)) / A(pieces * width);
  P rises, falls;
#pragma unroll
  for (int j = 0; j < width; ++j) {
    const A d = (A(value(pa.item[j])) - A(value(pb.item[j]))) * share;
    rises.item[j] = stored<T>(d);
    falls.item[j] = stored<T>(-d);
  }
  if (da != nullptr) reinterpret_cast<P*>(da)[i] = rises;
  if (db != nullptr) reinterpret_cast<P*>(db)[i] = falls;
}

}  // namespace

void squared_error(void* loss, const void* a, const void* b, std::int64_t count, DType dtype,
                   void* partials, cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    auto* const sums = static_cast<Compute<T>*>(partials);
    const bool is_whole = count % Pack<T>::size == 0 && is_aligned(a) && is_aligned(b);
    with_piece_width<T>(is_whole, [&](auto width) {
      squares<T, width.value><<<squared_error_partials, threads_per_block, 0, stream>>>(
          sums, static_cast<const T*>(a), static_cast<const T*>(b), count / width.value);
    });
    launch_mean<T>(static_cast<T*>(loss), sums, squared_error_partials, count, stream);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void squared_error_gradient(void* da, void* db, const void* a, const void* b, const void* dloss,
                            std::int64_t count, DType dtype, cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    const bool is_whole = count % Pack<T>::size == 0 && is_aligned(a) && is_aligned(b) &&
                          is_aligned(da) && is_aligned(db);
    with_piece_width<T>(is_whole, [&](auto width) {
      const std::int64_t pieces = count / width.value;
      squares_gradient<T, width.value><<<blocks_for(pieces), threads_per_block, 0, stream>>>(
          static_cast<T*>(da), static_cast<T*>(db), static_cast<const T*>(a),
          static_cast<const T*>(b), static_cast<const T*>(dloss), pieces);
    });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
