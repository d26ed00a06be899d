// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/graph/infer/families.hpp"

namespace strata {

void infer_shapes(const Resize& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.expect_axes(0, 3, 5);
  Shape y = sheet.shape(0);
  const Extents& given = op.scale.empty() ? op.output : op.scale;
  if (op.scale.empty() == op.output.empty() || given.size() != y.size() - 2) {
    fail(ErrorKind::input, "give either scale or output, one entry per spatial axis ({})",
         y.size() - 2);
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] < 1)
      fail(ErrorKind::input, "scale and output must be at least 1, got {}", given[i]);
    y[i + 2] = op.scale.empty() ? Dim(given[i]) : sheet.symbols.multiply(y[i + 2], given[i]);
  }
  sheet.output(y, sheet.dtype(0));
}

void infer_shapes(const Embedding& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  if (op.vocabulary < 1 || op.width < 1) {
    fail(ErrorKind::input, "a table of {} rows of width {}", op.vocabulary, op.width);
  }
  if (is_floating(sheet.dtype(0))) {
    fail(ErrorKind::input, "indices need an integer type, got {}", name_of(sheet.dtype(0)));
  }
  Shape y = sheet.shape(0);
  y.push_back(op.width);
  sheet.output(y, DType::fp32);
  sheet.own_tensor("weight", {op.vocabulary, op.width});
}

void infer_shapes(const Gather& op, Inference& sheet) {
  sheet.expect_inputs(2, 2);
  const Shape& data = sheet.shape(0);
  const Shape& indices = sheet.shape(1);
  const std::size_t axis = normal_axis(op.axis, data.size());
  Shape y;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (i != axis) {
      y.push_back(data[i]);
    } else {
      for (const Dim extent : indices) y.push_back(extent);
    }
  }
  sheet.output(y, sheet.dtype(0));
}

void infer_shapes(const Opaque& op, Inference& sheet) {
  const DType dtype = sheet.inputs.empty() ? DType::fp32 : sheet.dtype(0);
  for (const Shape& shape : op.shapes) sheet.output(shape, dtype);
}

}  // namespace strata
