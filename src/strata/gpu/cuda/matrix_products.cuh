// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/gpu/cuda/api.cuh"
#include "strata/gpu/cuda/loaded_library.cuh"

#include <cublasLt.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

/// Matrix products by cuBLASLt, with the algorithm that its heuristic names first, as cuBLAS and
/// frameworks take it.
namespace strata::cuda {

struct CublasLtFunctions {
  /// Nothing, and the reason in `problem`, when it cannot be loaded.
  static std::shared_ptr<const CublasLtFunctions> load(std::string& problem);
  CublasLtFunctions() = default;
  ~CublasLtFunctions();
  CublasLtFunctions(const CublasLtFunctions&) = delete;
  CublasLtFunctions& operator=(const CublasLtFunctions&) = delete;

  std::string version_text() const;  ///< "cuBLASLt 13.0.0"

  LoadedLibrary library;
  cublasLtHandle_t handle = nullptr;
#define STRATA_LT(member, function) decltype(&function) member = nullptr;
#include "strata/gpu/cuda/cublaslt_functions.inc"
#undef STRATA_LT
};

/// C[m × n] = A[m × k] B[k × n] (+ bias[n]), `batch` times; matrices are row-major. Strides are
/// from row to row as stored, and from matrix to matrix (0: the same for all).
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool is_a_transposed = false;  ///< stored k × m
  bool is_b_transposed = false;  ///< stored n × k
  std::int64_t a_row = 0, b_row = 0, c_row = 0;
  std::int64_t a_matrix = 0, b_matrix = 0, c_matrix = 0;
  DType dtype = DType::fp32;
  bool has_bias = false;

  friend auto operator<=>(const ProductShape&, const ProductShape&) = default;
};
/// One product of whole matrices.
ProductShape product_of(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                        bool is_a_transposed, bool is_b_transposed);

class MatrixProduct {
 public:
  MatrixProduct(std::shared_ptr<const CublasLtFunctions> lt, const ProductShape& shape,
                const DeviceBuffer& workspace, cudaStream_t stream);
  ~MatrixProduct();
  MatrixProduct(const MatrixProduct&) = delete;
  MatrixProduct& operator=(const MatrixProduct&) = delete;

  /// Why there is no algorithm; empty: there is one.
  const std::string& why_not() const { return why_not_; }
  void run(const void* a, const void* b, void* c, const void* bias = nullptr) const;
  const std::string& name() const { return name_; }  ///< "cuBLASLt 13.0.0 algorithm 21"

 private:
  void describe();
  void choose();

  std::shared_ptr<const CublasLtFunctions> lt_;
  ProductShape shape_;
  const DeviceBuffer& workspace_;
  cudaStream_t stream_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, result_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  std::string why_not_, name_;
};

/// Products of a device, which share a workspace; each shape is described once.
class MatrixProducts {
 public:
  MatrixProducts(std::shared_ptr<const CublasLtFunctions> lt, cudaStream_t stream);
  /// Errors (environment) where the library has nothing.
  std::shared_ptr<const MatrixProduct> product(const ProductShape& shape);
  /// The same, nothing where there is none.
  std::shared_ptr<const MatrixProduct> product_or_nothing(const ProductShape& shape);
  std::int64_t workspace_bytes() const { return static_cast<std::int64_t>(workspace_.bytes()); }

 private:
  std::shared_ptr<const CublasLtFunctions> lt_;
  cudaStream_t stream_;
  DeviceBuffer workspace_;
  std::map<ProductShape, std::shared_ptr<const MatrixProduct>> known_;
};

}  // namespace strata::cuda
