// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cuda/cublas.cuh"

#include "strata/base/error.hpp"

#include <fmt/format.h>

namespace strata::cuda {
namespace {

void check_cublas(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(status == CUBLAS_STATUS_INVALID_VALUE ? ErrorKind::internal : ErrorKind::environment,
         "{}: cuBLAS status {}", call, static_cast<int>(status));
}

cudaDataType_t cublas_type(DType dtype) {
  if (dtype == DType::fp16) return CUDA_R_16F;
  if (dtype == DType::bf16) return CUDA_R_16BF;
  return CUDA_R_32F;
}

int narrow_size(std::int64_t size) { return static_cast<int>(size); }

}  // namespace

std::shared_ptr<Cublas> Cublas::load(cudaStream_t stream, std::string& problem) {
  std::shared_ptr<Cublas> cublas(new Cublas);
  LoadedLibrary& library = cublas->library_;
  const bool is_whole = library.open(fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR)) &&
                        library.find(cublas->create_, "cublasCreate_v2") &&
                        library.find(cublas->destroy_, "cublasDestroy_v2") &&
                        library.find(cublas->set_stream_, "cublasSetStream_v2") &&
                        library.find(cublas->set_math_mode_, "cublasSetMathMode") &&
                        library.find(cublas->version_, "cublasGetVersion_v2") &&
                        library.find(cublas->gemm_, "cublasGemmStridedBatchedEx") &&
                        library.find(cublas->complex_gemm_, "cublasCgemmStridedBatched");
  if (!is_whole) {
    problem = library.problem;
    return nullptr;
  }
  if (const cublasStatus_t status = cublas->create_(&cublas->handle_);
      status != CUBLAS_STATUS_SUCCESS) {
    problem = fmt::format("cublasCreate: status {}", static_cast<int>(status));
    return nullptr;
  }
  check_cublas(cublas->set_stream_(cublas->handle_, stream), "cublasSetStream");
  // The default mode: fp32 stays fp32, halves are added in fp32.
  check_cublas(cublas->set_math_mode_(cublas->handle_, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
  return cublas;
}

Cublas::~Cublas() {
  if (handle_ != nullptr) destroy_(handle_);
}

std::string Cublas::version() const {
  int number = 0;
  check_cublas(version_(handle_, &number), "cublasGetVersion");
  return fmt::format("{}.{}.{}", number / 10000, number % 10000 / 100, number % 100);
}

// The library counts columns first; read so, a matrix of ours is its transpose, and Cᵀ = Bᵀ Aᵀ.
void Cublas::multiply(const BatchedProduct& p) const {
  const float one = 1;
  check_cublas(gemm_(handle_, p.b.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                     p.a.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, narrow_size(p.n),
                     narrow_size(p.m), narrow_size(p.k), &one, p.b.data, cublas_type(p.in),
                     narrow_size(p.b.stride), p.b.batch_stride, p.a.data, cublas_type(p.in),
                     narrow_size(p.a.stride), p.a.batch_stride, &p.beta, p.c, cublas_type(p.out),
                     narrow_size(p.c_stride), p.c_batch_stride, narrow_size(p.batch),
                     p.in == DType::fp32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F,
                     CUBLAS_GEMM_DEFAULT),
               "cublasGemmStridedBatchedEx");
}

void Cublas::multiply_complex(const BatchedProduct& p) const {
  const cuComplex one = {1, 0}, beta = {p.beta, 0};
  const auto complex = [](const void* data) { return static_cast<const cuComplex*>(data); };
  check_cublas(
      complex_gemm_(handle_, p.b.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                    p.a.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, narrow_size(p.n),
                    narrow_size(p.m), narrow_size(p.k), &one, complex(p.b.data),
                    narrow_size(p.b.stride), p.b.batch_stride, complex(p.a.data),
                    narrow_size(p.a.stride), p.a.batch_stride, &beta, static_cast<cuComplex*>(p.c),
                    narrow_size(p.c_stride), p.c_batch_stride, narrow_size(p.batch)),
      "cublasCgemmStridedBatched");
}

}  // namespace strata::cuda
