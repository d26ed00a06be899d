// SPDX-License-Identifier: Apache-2.0
// Random matrices for the library's products, and a slow product that judges them.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/ceilings/cuda/kernels.cuh"
#include "strata/measure/ceilings/cuda/pattern.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace strata::cuda {
namespace {

using Int8 = signed char;
using Fp8 = __nv_fp8_e4m3;

/// Calls `use(pointer)` with the data as what it holds.
template <class Use>
void with_type(void* data, DType dtype, const Use& use) {
  switch (dtype) {
    case DType::fp64: use(static_cast<double*>(data)); break;
    case DType::fp32:
    case DType::tf32: use(static_cast<float*>(data)); break;
    case DType::fp16: use(static_cast<__half*>(data)); break;
    case DType::bf16: use(static_cast<__nv_bfloat16*>(data)); break;
    case DType::fp8: use(static_cast<Fp8*>(data)); break;
    case DType::int8: use(static_cast<Int8*>(data)); break;
    default: check(cudaErrorInvalidValue, "a type without matrices");
  }
}

template <class Number>
__device__ Number uniform(std::uint32_t word) {
  return Number(static_cast<float>(word >> 8) * 0x1p-23f - 1.0f);
}
template <>
__device__ Int8 uniform<Int8>(std::uint32_t word) {
  return static_cast<Int8>(static_cast<int>((word >> 8) % 255) - 127);
}

template <class Number>
__global__ void uniform_kernel(Number* out, std::int64_t count, std::uint32_t seed) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    out[i] = uniform<Number>(hashed(static_cast<std::uint64_t>(i), seed));
}

template <class Number>
__device__ double value_of(Number number) {
  if constexpr (std::is_arithmetic_v<Number>) {
    return static_cast<double>(number);
  } else {
    return static_cast<double>(static_cast<float>(number));
  }
}

/// One block computes one element of D and compares.
template <class In, class Out>
__global__ void reference_kernel(const In* a, const In* b, const Out* d, Product product,
                                 std::uint32_t seed, ProductCheck* result) {
  const std::uint32_t word = hashed(blockIdx.x, seed);
  // The corners first: a wrong leading dimension shows there.
  const std::int64_t row = blockIdx.x == 0 ? product.m - 1 : word % product.m;
  const std::int64_t column = blockIdx.x == 0 ? product.n - 1 : (word >> 7) % product.n;
  double sum = 0, size = 0;
  for (std::int64_t i = threadIdx.x; i < product.k; i += 32) {
    const double term = value_of(a[row * product.k + i]) * value_of(b[column * product.k + i]);
    sum += term;
    size += fabs(term);
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, distance);
    size += __shfl_xor_sync(0xFFFFFFFFu, size, distance);
  }
  if (threadIdx.x != 0) return;
  const double error = fabs(value_of(d[column * product.m + row]) - sum) / size;
  // Bits of floats that are not negative order like the floats; NaN stands above them all.
  atomicMax(reinterpret_cast<unsigned*>(&result->worst),
            __float_as_uint(static_cast<float>(error)) & 0x7FFFFFFFu);
}

template <class Out>
__global__ void unwritten_kernel(const Out* d, std::int64_t count, ProductCheck* result) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  unsigned long long unwritten = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const Out item = d[i];
    const auto* bytes = reinterpret_cast<const unsigned char*>(&item);
    bool is_poison = true;
    for (int k = 0; k < static_cast<int>(sizeof(Out)); ++k)
      is_poison = is_poison && bytes[k] == product_poison;
    unwritten += is_poison;
  }
  if (unwritten != 0) atomicAdd(&result->unwritten, unwritten);
}

template <class In, class Out>
void check_typed(const Product& product, int samples, std::uint32_t seed, ProductCheck* result,
                 cudaStream_t stream) {
  const auto* d = static_cast<const Out*>(product.d);
  reference_kernel<<<samples, 32, 0, stream>>>(static_cast<const In*>(product.a),
                                               static_cast<const In*>(product.b), d, product, seed,
                                               result);
  unwritten_kernel<<<1024, 256, 0, stream>>>(d, product.m * product.n, result);
}

}  // namespace

void fill_uniform(void* out, std::int64_t count, DType dtype, std::uint32_t seed,
                  cudaStream_t stream) {
  with_type(out, dtype,
            [&](auto* numbers) { uniform_kernel<<<1024, 256, 0, stream>>>(numbers, count, seed); });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void check_product(const Product& product, int samples, std::uint32_t seed, ProductCheck* result,
                   cudaStream_t stream) {
  switch (product.dtype) {
    case DType::fp64: check_typed<double, double>(product, samples, seed, result, stream); break;
    case DType::tf32: check_typed<float, float>(product, samples, seed, result, stream); break;
    case DType::fp16: check_typed<__half, __half>(product, samples, seed, result, stream); break;
    case DType::bf16:
      check_typed<__nv_bfloat16, __nv_bfloat16>(product, samples, seed, result, stream);
      break;
    case DType::fp8: check_typed<Fp8, __nv_bfloat16>(product, samples, seed, result, stream); break;
    case DType::int8: check_typed<Int8, int>(product, samples, seed, result, stream); break;
    default: check(cudaErrorInvalidValue, "check_product: a type without a kernel");
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda
