// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/ceilings/cuda/kernels.cuh"

#include <cublasLt.h>

#include <memory>
#include <string>
#include <vector>

/// NVIDIA's library of matrix products, loaded when it is first needed: it is half a gigabyte, and
/// most commands of the program never multiply.
namespace strata::cuda {

class CublasLt {
 public:
  /// Nothing, and the reason in `problem`, when it cannot be loaded.
  static std::unique_ptr<CublasLt> load(std::string& problem);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  std::string version() const;

  struct Functions;
  const Functions& call() const { return *functions_; }
  cublasLtHandle_t handle() const { return handle_; }

 private:
  CublasLt() = default;
  std::unique_ptr<Functions> functions_;
  cublasLtHandle_t handle_ = nullptr;
};

/// One product of a data type and shape: its descriptors, and the algorithms that the library
/// proposes, best guess first. `why_not` says why there are none.
class LtProduct {
 public:
  /// `scale` is a 1 on the device: fp8 asks for one of each operand.
  LtProduct(const CublasLt& library, const Product& product, const float* scale,
            std::size_t workspace_bytes, int most_algorithms);
  ~LtProduct();
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;

  std::size_t algorithms() const { return found_.size(); }
  const std::string& why_not() const { return why_not_; }
  /// D = Aᵀ B; false when the library refuses.
  bool multiply(std::size_t algorithm, void* d, void* workspace, cudaStream_t stream) const;

 private:
  void describe_fp8(const float* scale);
  void find_algorithms(std::size_t workspace_bytes, int most);

  const CublasLt& library_;
  Product product_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> found_;
  std::string why_not_;
};

}  // namespace strata::cuda
