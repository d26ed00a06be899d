// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"

#include "strata/base/error.hpp"

namespace strata::cuda {
namespace {

// After these the context is lost, and only our own code can have brought it there.
bool is_our_bug(cudaError_t status) {
  switch (status) {
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorLaunchFailure:
    case cudaErrorStreamCaptureInvalidated: return true;
    default: return false;
  }
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that was said is not said again by the next call
  fail(is_our_bug(status) ? ErrorKind::internal : ErrorKind::environment, "{}: {} ({})", call,
       cudaGetErrorString(status), cudaGetErrorName(status));
}

}  // namespace strata::cuda
