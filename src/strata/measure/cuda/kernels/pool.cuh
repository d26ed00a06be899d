// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/graph/operator_kinds.hpp"
#include "strata/measure/engine/constants.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

/// Plain pooling in up to three spatial axes (absent ones have extent 1 and come first), as
/// functions that enqueue kernels: for windows that cuDNN refuses.
namespace strata::cuda::train {

struct PoolRun {
  PoolKind kind = PoolKind::maximum;
  bool is_adaptive = false;  ///< windows follow from the extents alone
  bool counts_padding = false;
  std::int64_t planes = 1;  ///< samples × channels
  int in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};
  DType dtype = DType::fp32;

  STRATA_HOST_AND_DEVICE std::int64_t in_plane() const {
    return std::int64_t{in[0]} * in[1] * in[2];
  }
  STRATA_HOST_AND_DEVICE std::int64_t out_plane() const {
    return std::int64_t{out[0]} * out[1] * out[2];
  }
};

/// `argmax` gets for each maximum where in its plane it is; null where nobody asks for it, and of
/// averages.
void pool(const PoolRun& run, void* y, std::int32_t* argmax, const void* x, cudaStream_t stream);
void pool_gradient(const PoolRun& run, void* dx, const void* dy, const std::int32_t* argmax,
                   cudaStream_t stream);

}  // namespace strata::cuda::train
