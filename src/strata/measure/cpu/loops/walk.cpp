// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/loops/walk.hpp"

#include "strata/base/error.hpp"

namespace strata::cpu_training {
Sizes strides_of(const Sizes& shape) {
  Sizes strides = shape;
  std::int64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

Sizes broadcast_strides(const Sizes& shape, const Sizes& to) {
  const Sizes own = strides_of(shape);
  const std::size_t missing = to.size() - shape.size();
  Sizes strides;
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    const bool is_repeated = axis < missing || shape[axis - missing] == 1;
    strides.push_back(is_repeated ? 0 : own[axis - missing]);
  }
  return strides;
}

Walk::Walk(const Sizes& shape, const std::vector<Sizes>& operand_strides)
    : strides_(operand_strides.size()) {
  STRATA_CHECK(operand_strides.size() <= most_operands, "too many operands of one walk");
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    bool joins = !shape_.empty();
    for (std::size_t k = 0; k < strides_.size() && joins; ++k) {
      joins = strides_[k].back() == operand_strides[k][axis] * shape[axis];
    }
    if (joins) {
      shape_.back() *= shape[axis];
    } else {
      shape_.push_back(shape[axis]);
    }
    for (std::size_t k = 0; k < strides_.size(); ++k) {
      if (joins) {
        strides_[k].back() = operand_strides[k][axis];
      } else {
        strides_[k].push_back(operand_strides[k][axis]);
      }
    }
  }
  if (shape_.empty()) {
    shape_.push_back(1);
    for (Sizes& strides : strides_) strides.push_back(0);
  }
  for (std::size_t axis = 0; axis + 1 < shape_.size(); ++axis) rows_ *= shape_[axis];
  for (std::size_t k = 0; k < strides_.size(); ++k) steps_[k] = strides_[k].back();
  set_longest_piece(longest_piece);
}

Walk::Place Walk::place_of(std::int64_t row) const {
  Place at{shape_, {}};
  for (std::size_t axis = shape_.size() - 1; axis-- > 0;) {
    at.index[axis] = row % shape_[axis];
    row /= shape_[axis];
    for (std::size_t k = 0; k < strides_.size(); ++k) {
      at.offsets[k] += at.index[axis] * strides_[k][axis];
    }
  }
  return at;
}

}  // namespace strata::cpu_training
