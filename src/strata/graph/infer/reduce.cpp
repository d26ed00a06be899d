// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/graph/infer/families.hpp"

#include <array>

namespace strata {

void infer_shapes(const Reduce& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  const Shape& x = sheet.shape(0);
  std::array<bool, most_axes> is_reduced{};
  if (op.axes.empty()) is_reduced.fill(true);
  for (const std::int64_t axis : op.axes) is_reduced[normal_axis(axis, x.size())] = true;
  Shape y;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    if (!is_reduced[axis]) {
      y.push_back(x[axis]);
    } else if (op.keep_axes) {
      y.push_back(1);
    }
  }
  sheet.output(y, sheet.dtype(0));
}

void infer_shapes(const SoftmaxCrossEntropy& op, Inference& sheet) {
  sheet.expect_inputs(2, 2);
  const Shape& logits = sheet.shape(0);
  const Shape& target = sheet.shape(1);
  const std::size_t classes = normal_axis(op.axis, logits.size());
  if (is_floating(sheet.dtype(1))) {
    fail(ErrorKind::input, "targets are class numbers (an integer type), got {}",
         name_of(sheet.dtype(1)));
  }
  if (target.size() + 1 != logits.size()) {
    fail(ErrorKind::input, "targets {} do not fit logits {}", text_of(target, sheet.symbols),
         text_of(logits, sheet.symbols));
  }
  for (std::size_t axis = 0; axis < target.size(); ++axis) {
    sheet.assume_equal(target[axis], logits[axis < classes ? axis : axis + 1],
                       "extents of targets and logits");
  }
  sheet.output({}, sheet.dtype(0));
}

void infer_shapes(const SquaredError&, Inference& sheet) {
  sheet.expect_inputs(2, 2);
  const Shape& prediction = sheet.shape(0);
  sheet.expect_axes(1, prediction.size(), prediction.size());
  for (std::size_t axis = 0; axis < prediction.size(); ++axis) {
    sheet.assume_equal(prediction[axis], sheet.shape(1)[axis], "extents of prediction and target");
  }
  sheet.output({}, sheet.dtype(0));
}

}  // namespace strata
