// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/gpu/cuda/loaded_library.cuh"

#include <cublasLt.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

/// Matrix products by cuBLASLt, the fastest of its algorithms for each shape by measurement.
namespace strata::cuda::train {

struct LtFunctions {
  /// Nothing, and the reason in `problem`, when it cannot be loaded.
  static std::shared_ptr<const LtFunctions> load(std::string& problem);
  LtFunctions() = default;
  ~LtFunctions();
  LtFunctions(const LtFunctions&) = delete;
  LtFunctions& operator=(const LtFunctions&) = delete;

  std::string version_text() const;

  LoadedLibrary library;
  cublasLtHandle_t handle = nullptr;
#define STRATA_LT(member, function) decltype(&function) member = nullptr;
#include "strata/measure/cuda/products/lt_functions.inc"
#undef STRATA_LT
};

/// C[m × n] = A[m × k] B[k × n] (+ bias[n]), `batch` times; all rows first. Strides are from row to
/// row as stored, and from matrix to matrix (0: the same for all).
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  bool is_a_transposed = false;  ///< stored k × m
  bool is_b_transposed = false;  ///< stored n × k
  std::int64_t a_row = 0, b_row = 0, c_row = 0;
  std::int64_t a_matrix = 0, b_matrix = 0, c_matrix = 0;
  DType dtype = DType::fp32;
  bool has_bias = false;
  bool adds = false;  ///< C += instead of C =

  friend auto operator<=>(const ProductShape&, const ProductShape&) = default;
};
/// One product of whole matrices.
ProductShape product_of(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                        bool is_a_transposed, bool is_b_transposed);

class TunedProduct {
 public:
  TunedProduct(std::shared_ptr<const LtFunctions> lt, const ProductShape& shape, void* workspace,
               std::size_t workspace_bytes, cudaStream_t stream);
  ~TunedProduct();
  TunedProduct(const TunedProduct&) = delete;
  TunedProduct& operator=(const TunedProduct&) = delete;

  /// Why there is no algorithm; empty: there is one.
  const std::string& why_not() const { return why_not_; }
  void run(const void* a, const void* b, void* c, const void* bias = nullptr) const;
  const std::string& name() const { return name_; }

 private:
  void describe();
  void choose();
  cublasStatus_t multiply(const cublasLtMatmulHeuristicResult_t& algorithm, const void* a,
                          const void* b, void* c, const void* bias) const;

  std::shared_ptr<const LtFunctions> lt_;
  ProductShape shape_;
  void* workspace_;
  std::size_t workspace_bytes_;
  cudaStream_t stream_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, result_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_{};
  std::string why_not_, name_;
};

/// Products of a device, each shape chosen once.
class Products {
 public:
  Products(std::shared_ptr<const LtFunctions> lt, cudaStream_t stream);
  /// Errors (environment) where the library has nothing.
  std::shared_ptr<const TunedProduct> product(const ProductShape& shape);
  /// The same, nothing where there is none.
  std::shared_ptr<const TunedProduct> product_or_nothing(const ProductShape& shape);

 private:
  std::shared_ptr<const LtFunctions> lt_;
  cudaStream_t stream_;
  std::shared_ptr<void> workspace_;
  std::map<ProductShape, std::shared_ptr<const TunedProduct>> known_;
};

}  // namespace strata::cuda::train
