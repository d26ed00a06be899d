// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/sums/reduce.cuh"

namespace strata::cuda::train {

Reduction::Reduction(std::span<const std::int64_t> shape, const std::vector<bool>& is_reduced)
    : layout(sum_layout(shape, is_reduced)) {
  const std::vector<std::int64_t> strides = dense_strides(shape);
  kept.strides.resize(1);
  reduced.strides.resize(1);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    StridedAxes& to = is_reduced[axis] ? reduced : kept;
    to.extents.push_back(shape[axis]);
    to.strides[0].push_back(strides[axis]);
  }
}

std::int64_t Reduction::scratch() const { return layout ? sum_scratch(*layout) : 0; }

}  // namespace strata::cuda::train
