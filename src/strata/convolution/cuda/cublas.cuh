// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/gpu/cuda/loaded_library.cuh"

#include <cublas_v2.h>

#include <cstdint>
#include <memory>
#include <string>

/// Matrix products by NVIDIA's library, in true fp32 (no TF32), many at a time.
namespace strata::cuda {

/// One matrix of a batch, last index fastest: `rows` of `stride` numbers; transposed: it is read
/// with rows and columns exchanged.
struct Operand {
  const void* data = nullptr;
  std::int64_t stride = 0;        ///< from row to row, as it is stored
  std::int64_t batch_stride = 0;  ///< from matrix to matrix; 0: the same for all
  bool is_transposed = false;
};

/// C[m × n] = A[m × k] B[k × n] + beta C, `batch` times.
struct BatchedProduct {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Operand a, b;
  void* c = nullptr;
  std::int64_t c_stride = 0, c_batch_stride = 0;
  DType in = DType::fp32;   ///< of A and B: fp32, fp16, bf16
  DType out = DType::fp32;  ///< of C
  float beta = 0;
};

class Cublas {
 public:
  /// Nothing, and the reason in `problem`, when it cannot be loaded.
  static std::shared_ptr<Cublas> load(cudaStream_t stream, std::string& problem);
  ~Cublas();

  void multiply(const BatchedProduct& product) const;
  std::string version() const;  ///< "13.1.0"
  /// Of complex numbers, two floats each.
  void multiply_complex(const BatchedProduct& product) const;

 private:
  // Written out: in C++ the library's header has two functions of this name.
  using GemmFunction = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int,
                                          int, int, const void*, const void*, cudaDataType, int,
                                          long long, const void*, cudaDataType, int, long long,
                                          const void*, void*, cudaDataType, int, long long, int,
                                          cublasComputeType_t, cublasGemmAlgo_t);
  Cublas() = default;
  LoadedLibrary library_;
  cublasHandle_t handle_ = nullptr;
  decltype(&cublasCreate_v2) create_ = nullptr;
  decltype(&cublasDestroy_v2) destroy_ = nullptr;
  decltype(&cublasSetStream_v2) set_stream_ = nullptr;
  decltype(&cublasSetMathMode) set_math_mode_ = nullptr;
  decltype(&cublasGetVersion_v2) version_ = nullptr;
  GemmFunction gemm_ = nullptr;
  decltype(&cublasCgemmStridedBatched) complex_gemm_ = nullptr;
};

}  // namespace strata::cuda
