// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

/// How numbers are stored and what they are computed in. For nvcc only.
namespace strata::cuda::train {

/// Sums and functions are computed in fp32, of fp64 in fp64.
template <class T>
struct ComputeOf {
  using type = float;
};
template <>
struct ComputeOf<double> {
  using type = double;
};
template <class T>
using Compute = typename ComputeOf<T>::type;

__device__ inline float value(float x) { return x; }
__device__ inline double value(double x) { return x; }
__device__ inline float value(__half x) { return __half2float(x); }
__device__ inline float value(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class T>
__device__ inline T stored(Compute<T> x) {
  return static_cast<T>(x);
}
template <>
__device__ inline __half stored<__half>(float x) {
  return __float2half(x);
}
template <>
__device__ inline __nv_bfloat16 stored<__nv_bfloat16>(float x) {
  return __float2bfloat16(x);
}

/// Numbers side by side, a power of two of them; up to 16 bytes are moved by one instruction.
template <class T, int count>
struct alignas(count * sizeof(T) < 16 ? count * sizeof(T) : 16) Items {
  static constexpr int size = count;
  T item[count];
};
/// As many as one instruction moves.
template <class T>
using Pack = Items<T, 16 / static_cast<int>(sizeof(T))>;

/// Whether an array may be moved by so many of its numbers at a time.
template <class T, int count>
bool holds_items(const T* data) {
  return reinterpret_cast<std::uintptr_t>(data) % alignof(Items<T, count>) == 0;
}

/// Calls `f` with a number of the type that stores `dtype`; false where there is none.
template <class F>
bool with_element_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::fp64: f(double{}); return true;
    case DType::fp32:
    case DType::tf32: f(float{}); return true;
    case DType::fp16: f(__half{}); return true;
    case DType::bf16: f(__nv_bfloat16{}); return true;
    default: return false;
  }
}

/// A number of whatever type, where types mix; `A` is float or double.
template <class A>
__device__ inline A value_at(const void* data, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::fp64: return static_cast<A>(static_cast<const double*>(data)[i]);
    case DType::fp32:
    case DType::tf32: return static_cast<A>(static_cast<const float*>(data)[i]);
    case DType::fp16: return static_cast<A>(value(static_cast<const __half*>(data)[i]));
    case DType::bf16: return static_cast<A>(value(static_cast<const __nv_bfloat16*>(data)[i]));
    case DType::int32: return static_cast<A>(static_cast<const std::int32_t*>(data)[i]);
    case DType::int64: return static_cast<A>(static_cast<const std::int64_t*>(data)[i]);
    case DType::int8: return static_cast<A>(static_cast<const std::int8_t*>(data)[i]);
    case DType::boolean: return static_cast<A>(static_cast<const std::uint8_t*>(data)[i] != 0);
    case DType::fp8: break;
  }
  return 0;
}

template <class A>
__device__ inline void store_at(void* data, DType dtype, std::int64_t i, A x) {
  switch (dtype) {
    case DType::fp64: static_cast<double*>(data)[i] = x; return;
    case DType::fp32:
    case DType::tf32: static_cast<float*>(data)[i] = static_cast<float>(x); return;
    case DType::fp16: static_cast<__half*>(data)[i] = __float2half(static_cast<float>(x)); return;
    case DType::bf16:
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16(static_cast<float>(x));
      return;
    case DType::int32: static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(x); return;
    case DType::int64: static_cast<std::int64_t*>(data)[i] = static_cast<std::int64_t>(x); return;
    case DType::int8: static_cast<std::int8_t*>(data)[i] = static_cast<std::int8_t>(x); return;
    case DType::boolean: static_cast<std::uint8_t*>(data)[i] = x != 0; return;
    case DType::fp8: return;
  }
}

__device__ inline std::int64_t index_at(const void* data, bool is_64_bit, std::int64_t i) {
  return is_64_bit ? static_cast<const std::int64_t*>(data)[i]
                   : static_cast<const std::int32_t*>(data)[i];
}

constexpr int threads_per_block = 256;

inline unsigned blocks_for(std::int64_t items, int per_block = threads_per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

inline bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

// --- sums over a block ---------------------------------------------------------------------------

struct Sum {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a + b;
  }
};
struct Larger {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a > b ? a : b;
  }
};

/// Every thread of a block (one-dimensional, of whole warps) gets the result.
template <class A, class Join>
__device__ A over_block(A x, Join join, A neutral) {
  __shared__ A parts[33];
  for (int step = 16; step > 0; step /= 2) x = join(x, __shfl_xor_sync(~0u, x, step));
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned warps = blockDim.x / 32;
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  if (warp == 0) {
    x = lane < warps ? parts[lane] : neutral;
    for (int step = 16; step > 0; step /= 2) x = join(x, __shfl_xor_sync(~0u, x, step));
    if (lane == 0) parts[32] = x;
  }
  __syncthreads();
  x = parts[32];
  __syncthreads();  // the next sum may begin
  return x;
}
template <class A>
__device__ A sum_over_block(A x) {
  return over_block(x, Sum{}, A(0));
}

}  // namespace strata::cuda::train
