// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/kernels/index_map.cuh"

namespace strata::cuda::train {

StridedAxes StridedAxes::merged() const {
  StridedAxes result;
  result.strides.resize(strides.size());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 1) continue;
    bool is_run = !result.extents.empty();
    for (std::size_t i = 0; i < strides.size() && is_run; ++i)
      is_run = result.strides[i].back() == strides[i][axis] * extents[axis];
    if (is_run) {
      result.extents.back() *= extents[axis];
      for (std::size_t i = 0; i < strides.size(); ++i) result.strides[i].back() = strides[i][axis];
    } else {
      result.extents.push_back(extents[axis]);
      for (std::size_t i = 0; i < strides.size(); ++i)
        result.strides[i].push_back(strides[i][axis]);
    }
  }
  return result;
}

std::int64_t StridedAxes::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  return count;
}

std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t stride = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= extents[axis];
  }
  return strides;
}

std::vector<std::int64_t> broadcast_strides(std::span<const std::int64_t> shape,
                                            std::span<const std::int64_t> target) {
  const std::vector<std::int64_t> dense = dense_strides(shape);
  std::vector<std::int64_t> strides(target.size(), 0);
  const std::size_t missing = target.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1) strides[missing + axis] = dense[axis];
  }
  return strides;
}

}  // namespace strata::cuda::train
