// SPDX-License-Identifier: Apache-2.0
// Multiply-adds that live in registers: no memory, no dependence between neighbours, so the
// arithmetic units are all that can be in the way.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/ceilings/cuda/kernels.cuh"
#include "strata/measure/ceilings/cuda/pattern.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace strata::cuda {
namespace {

__device__ double multiply_add(double x, double a, double b) { return fma(x, a, b); }
__device__ float multiply_add(float x, float a, float b) { return __fmaf_rn(x, a, b); }
__device__ __half2 multiply_add(__half2 x, __half2 a, __half2 b) { return __hfma2(x, a, b); }
__device__ __nv_bfloat162 multiply_add(__nv_bfloat162 x, __nv_bfloat162 a, __nv_bfloat162 b) {
  return __hfma2(x, a, b);
}

template <class Number>
__global__ void __launch_bounds__(fma_threads_per_block)
    fma_kernel(const Number* start, Number* out, Number a, Number b, int rounds) {
  const std::int64_t threads = std::int64_t{gridDim.x} * fma_threads_per_block;
  const std::int64_t thread = std::int64_t{blockIdx.x} * fma_threads_per_block + threadIdx.x;
  Number x[fma_chains];
#pragma unroll
  for (int chain = 0; chain < fma_chains; ++chain) x[chain] = start[chain * threads + thread];
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int step = 0; step < fma_unroll; ++step) {
#pragma unroll
      for (int chain = 0; chain < fma_chains; ++chain) x[chain] = multiply_add(x[chain], a, b);
    }
  }
#pragma unroll
  for (int chain = 0; chain < fma_chains; ++chain) out[chain * threads + thread] = x[chain];
}

template <class Number>
void run_typed(const FmaRun& run, const void* start, void* out, Number a, Number b,
               cudaStream_t stream) {
  fma_kernel<<<run.blocks, fma_threads_per_block, 0, stream>>>(
      static_cast<const Number*>(start), static_cast<Number*>(out), a, b, run.rounds);
}

__host__ __device__ int small_integer_at(std::uint64_t index, std::uint32_t seed) {
  return static_cast<int>(hashed(index, seed) >> 27) - 16;
}

template <class Number>
__global__ void integers_kernel(Number* out, std::int64_t count, std::uint32_t seed) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    out[i] = Number(static_cast<float>(small_integer_at(static_cast<std::uint64_t>(i), seed)));
}

bool is_packed(DType dtype) { return dtype == DType::fp16 || dtype == DType::bf16; }

}  // namespace

std::int64_t fma_elements(const FmaRun& run) {
  return std::int64_t{run.blocks} * fma_threads_per_block * fma_chains *
         (is_packed(run.dtype) ? 2 : 1);
}

double fma_flop(const FmaRun& run) {
  return 2.0 * static_cast<double>(fma_elements(run)) * fma_unroll * run.rounds;
}

void run_fma(const FmaRun& run, const void* start, void* out, cudaStream_t stream) {
  switch (run.dtype) {
    case DType::fp64: run_typed<double>(run, start, out, run.a, run.b, stream); break;
    case DType::fp32: run_typed<float>(run, start, out, run.a, run.b, stream); break;
    case DType::fp16:
      run_typed(run, start, out, __float2half2_rn(run.a), __float2half2_rn(run.b), stream);
      break;
    case DType::bf16:
      run_typed(run, start, out, __float2bfloat162_rn(run.a), __float2bfloat162_rn(run.b), stream);
      break;
    default: check(cudaErrorInvalidValue, "run_fma: a type without a kernel");
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

void fill_small_integers(void* out, std::int64_t count, DType dtype, std::uint32_t seed,
                         cudaStream_t stream) {
  switch (dtype) {
    case DType::fp64:
      integers_kernel<<<1024, 256, 0, stream>>>(static_cast<double*>(out), count, seed);
      break;
    case DType::fp32:
      integers_kernel<<<1024, 256, 0, stream>>>(static_cast<float*>(out), count, seed);
      break;
    case DType::fp16:
      integers_kernel<<<1024, 256, 0, stream>>>(static_cast<__half*>(out), count, seed);
      break;
    case DType::bf16:
      integers_kernel<<<1024, 256, 0, stream>>>(static_cast<__nv_bfloat16*>(out), count, seed);
      break;
    default: check(cudaErrorInvalidValue, "fill_small_integers: a type without a kernel");
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

std::int64_t small_integer(std::uint64_t index, std::uint32_t seed) {
  return small_integer_at(index, seed);
}

}  // namespace strata::cuda
