// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/graph/infer/families.hpp"

namespace strata {

void infer_shapes(const Linear& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.expect_axes(0, 1);
  if (op.features < 1) fail(ErrorKind::input, "features must be at least 1, got {}", op.features);
  Shape y = sheet.shape(0);
  const std::int64_t inputs = sheet.number(y.back(), "the number of input features");
  y.back() = op.features;
  sheet.output(y, sheet.dtype(0));
  sheet.own_tensor("weight", {op.features, inputs});
  if (op.bias) sheet.own_tensor("bias", {op.features});
}

void infer_shapes(const MatMul& op, Inference& sheet) {
  sheet.expect_inputs(2, 2);
  sheet.expect_axes(0, 2);
  sheet.expect_axes(1, 2);
  const Shape& a = sheet.shape(0);
  const Shape& b = sheet.shape(1);
  const auto from_end = [](const Shape& shape, std::size_t back) {
    return shape[shape.size() - back];
  };
  const Dim rows = from_end(a, op.transpose_a ? 1 : 2);
  const Dim columns = from_end(b, op.transpose_b ? 2 : 1);
  sheet.assume_equal(from_end(a, op.transpose_a ? 2 : 1), from_end(b, op.transpose_b ? 1 : 2),
                     "inner extents");

  const auto leading = [](const Shape& shape) {
    return Shape(std::span<const Dim>(shape).first(shape.size() - 2));
  };
  Shape y = sheet.broadcast(leading(a), leading(b));
  y.push_back(rows);
  y.push_back(columns);
  sheet.output(y, sheet.dtype(0));
}

void infer_shapes(const Attention& op, Inference& sheet) {
  sheet.expect_inputs(3, 4);
  for (std::size_t i = 0; i < 3; ++i) sheet.expect_axes(i, 3, 3);
  const Shape& q = sheet.shape(0);
  const Shape& k = sheet.shape(1);
  const Shape& v = sheet.shape(2);
  const std::int64_t kv_heads = op.kv_heads == 0 ? op.heads : op.kv_heads;
  if (op.heads < 1 || kv_heads < 1 || op.heads % kv_heads != 0) {
    fail(ErrorKind::input, "{} heads cannot share {} key/value heads", op.heads, kv_heads);
  }
  const std::int64_t q_width = sheet.number(q[2], "the query width");
  const std::int64_t k_width = sheet.number(k[2], "the key width");
  const std::int64_t v_width = sheet.number(v[2], "the value width");
  if (q_width % op.heads != 0 || k_width % kv_heads != 0 || v_width % kv_heads != 0 ||
      q_width / op.heads != k_width / kv_heads) {
    fail(ErrorKind::input,
         "widths {}, {}, {} of Q, K, V do not split into {} heads ({} for K and V)", q_width,
         k_width, v_width, op.heads, kv_heads);
  }
  sheet.assume_equal(q[0], k[0], "batch of Q and K");
  sheet.assume_equal(k[0], v[0], "batch of K and V");
  sheet.assume_equal(k[1], v[1], "lengths of K and V");
  if (sheet.inputs.size() == 4) {
    // The mask broadcasts to [N, heads, S, T]; the result's shape does not depend on it.
    sheet.broadcast(Shape{q[0], op.heads, q[1], k[1]}, sheet.shape(3));
  }
  sheet.output({q[0], q[1], op.heads * (v_width / kv_heads)}, sheet.dtype(0));
}

void infer_shapes(const RotaryEmbedding& op, Inference& sheet) {
  sheet.expect_inputs(1, 1);
  sheet.expect_axes(0, 3, 3);
  const Shape& x = sheet.shape(0);
  const std::int64_t width = sheet.number(x[2], "the width");
  if (op.heads < 1 || width % op.heads != 0 || (width / op.heads) % 2 != 0) {
    fail(ErrorKind::input, "width {} does not split into {} heads of even width", width, op.heads);
  }
  const std::int64_t pairs = width / op.heads / 2;
  sheet.output(x, sheet.dtype(0));
  sheet.own_tensor("cosine", {x[1], pairs}, TensorKind::constant);
  sheet.own_tensor("sine", {x[1], pairs}, TensorKind::constant);
}

}  // namespace strata
