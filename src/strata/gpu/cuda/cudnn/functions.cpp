// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/cudnn/functions.cuh"

#include "strata/base/error.hpp"

#include <fmt/format.h>

namespace strata::cuda {

std::shared_ptr<const CudnnFunctions> CudnnFunctions::load(cudaStream_t stream,
                                                           std::string& problem) {
  auto cudnn = std::make_shared<CudnnFunctions>();
  bool is_whole = cudnn->library.open(fmt::format("libcudnn.so.{}", CUDNN_MAJOR));
#define STRATA_CUDNN(member, function) \
  is_whole = is_whole && cudnn->library.find(cudnn->member, #function);
#include "strata/gpu/cuda/cudnn/functions.inc"
#undef STRATA_CUDNN
  if (!is_whole) {
    problem = cudnn->library.problem;
    return nullptr;
  }
  if (const cudnnStatus_t status = cudnn->create(&cudnn->handle); status != CUDNN_STATUS_SUCCESS) {
    problem = fmt::format("cudnnCreate: {}", cudnn->error_text(status));
    return nullptr;
  }
  check_cudnn(*cudnn, cudnn->set_stream(cudnn->handle, stream), "cudnnSetStream");
  return cudnn;
}

CudnnFunctions::~CudnnFunctions() {
  if (handle != nullptr) destroy(handle);
}

std::string version_text(std::size_t number) {
  return fmt::format("{}.{}.{}", number / 10000, number % 10000 / 100, number % 100);
}

void check_cudnn(const CudnnFunctions& cudnn, cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS)
    fail(ErrorKind::environment, "{}: {}", call, cudnn.error_text(status));
}

}  // namespace strata::cuda
