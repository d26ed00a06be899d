// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cuda/cudnn/descriptors.cuh"

#include <cstdint>
#include <vector>

/// What cuDNN's calls outside its graph interface have in common.
namespace strata::cuda {

/// A dense row-major tensor. Throws GraphRefusal.
class TensorDescriptor {
 public:
  TensorDescriptor(Cudnn cudnn, DType dtype, const std::vector<std::int64_t>& extents);
  ~TensorDescriptor();
  TensorDescriptor(const TensorDescriptor&) = delete;
  TensorDescriptor& operator=(const TensorDescriptor&) = delete;
  cudnnTensorDescriptor_t get() const { return descriptor_; }

 private:
  Cudnn cudnn_;
  cudnnTensorDescriptor_t descriptor_ = nullptr;
};

/// The factors 1 and 0 in the type in which cuDNN wants them: fp32, of fp64 fp64.
class Factors {
 public:
  explicit Factors(DType dtype) : is_double_(dtype == DType::fp64) {}
  const void* one() const {
    return is_double_ ? static_cast<const void*>(&double_one) : &float_one;
  }
  const void* zero() const {
    return is_double_ ? static_cast<const void*>(&double_zero) : &float_zero;
  }

 private:
  static constexpr float float_one = 1, float_zero = 0;
  static constexpr double double_one = 1, double_zero = 0;
  bool is_double_;
};

/// Throws GraphRefusal with the call and cuDNN's reason.
void refuse_unless(const CudnnFunctions& cudnn, cudnnStatus_t status, const char* call);

}  // namespace strata::cuda
