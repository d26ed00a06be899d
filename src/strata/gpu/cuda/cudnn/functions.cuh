// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cuda/loaded_library.cuh"

#include <cudnn.h>

#include <memory>
#include <string>

namespace strata::cuda {

/// cuDNN, loaded when it is first asked for.
struct CudnnFunctions {
  /// Nothing, and the reason in `problem`, when it cannot be loaded.
  static std::shared_ptr<const CudnnFunctions> load(cudaStream_t stream, std::string& problem);
  CudnnFunctions() = default;
  ~CudnnFunctions();
  CudnnFunctions(const CudnnFunctions&) = delete;
  CudnnFunctions& operator=(const CudnnFunctions&) = delete;

  LoadedLibrary library;
  cudnnHandle_t handle = nullptr;
#define STRATA_CUDNN(member, function) decltype(&function) member = nullptr;
#include "strata/gpu/cuda/cudnn/functions.inc"
#undef STRATA_CUDNN
};

/// "9.14.0" of what cudnnGetVersion says.
std::string version_text(std::size_t number);

/// Throws Error (environment) with the call's text and cuDNN's reason.
void check_cudnn(const CudnnFunctions& cudnn, cudnnStatus_t status, const char* call);

}  // namespace strata::cuda
