// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace strata {

/// How many kernels PyTorch launches for one operation on lists of tensors of these sizes, when
/// `lists` of them are read or written together: it hands a kernel at most so many tensors, in at
/// most so many pieces (aten/src/ATen/native/cuda/MultiTensorApply.cuh).
std::int64_t multi_tensor_launches(const std::vector<std::int64_t>& sizes, std::size_t lists);

}  // namespace strata
