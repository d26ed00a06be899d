// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/ops/product.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/einsum.hpp"
#include "strata/importers/onnx/ops/ops.hpp"
#include "strata/importers/onnx/ops/window.hpp"

#include <array>
#include <utility>

namespace strata::onnx {
namespace {

Shape without_axis(const Shape& shape, std::size_t dropped) {
  Shape rest;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis != dropped) rest.push_back(shape[axis]);
  }
  return rest;
}

DraftId scaled(OpContext& context, DraftId x, double factor) {
  if (factor == 1) return x;
  const DraftId scalar = context.scalar_like(factor, context.draft().type(x).dtype);
  return context.add(Elementwise{ElementwiseKind::multiply}, {x, scalar}, {}, "scale");
}

DraftId swapped(OpContext& context, DraftId x) {
  Axes permutation;
  const std::size_t rank = context.draft().shape(x).size();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    permutation.push_back(static_cast<std::int64_t>(axis));
  }
  if (rank >= 2) std::swap(permutation[rank - 1], permutation[rank - 2]);
  return context.transposed(x, permutation);
}

// a·b where b may be stored; positions differ between MatMul and its quantised forms.
DraftId product_of_inputs(OpContext& context, std::size_t a, std::size_t b) {
  if (is_matrix_weight(context, b) && !context.is_constant(a)) {
    return linear(context, context.tensor(a), {.weight = b});
  }
  return matrix_product(context, context.tensor(a), context.tensor(b), {});
}

void lower_matmul(OpContext& context) { context.set(0, product_of_inputs(context, 0, 1)); }
void lower_qlinear_matmul(OpContext& context) { context.set(0, product_of_inputs(context, 0, 3)); }

// Products whose result is dequantised at once, with an optional bias.
template <std::size_t bias>
void lower_quantised_matmul(OpContext& context) {
  DraftId y = product_of_inputs(context, 0, 1);
  if (!is_floating(context.draft().type(y).dtype)) {
    y = context.add(Cast{DType::fp32}, {y}, {}, "dequantise");
  }
  if (context.has(bias)) y = context.add(Elementwise{}, {y, context.tensor(bias)}, {}, "bias");
  context.set(0, y);
}

void lower_fused_matmul(OpContext& context) {
  if (context.integer("transBatchA", 0) != 0 || context.integer("transBatchB", 0) != 0) {
    return lower_unknown(context);
  }
  const bool transposes_a = context.integer("transA", 0) != 0;
  const bool transposes_b = context.integer("transB", 0) != 0;
  DraftId y = no_tensor;
  if (is_matrix_weight(context, 1) && !context.is_constant(0)) {
    const DraftId a = context.tensor(0);
    y = linear(context, transposes_a ? swapped(context, a) : a, {.is_transposed = transposes_b});
  } else {
    y = matrix_product(context, context.tensor(0), context.tensor(1), {transposes_a, transposes_b});
  }
  context.set(0, scaled(context, y, context.real("alpha", 1)));
}

// α·A·B + β·C. Factors of stored matrices belong to the matrices.
DraftId gemm(OpContext& context) {
  if (context.rank(0) != 2 || context.rank(1) != 2) {
    fail(ErrorKind::input, "expected two matrices, got {} and {} axes", context.rank(0),
         context.rank(1));
  }
  const bool transposes_a = context.integer("transA", 0) != 0;
  const bool transposes_b = context.integer("transB", 0) != 0;
  if (is_matrix_weight(context, 1) && !context.is_constant(0)) {
    const DraftId a = context.tensor(0);
    return linear(context, transposes_a ? swapped(context, a) : a,
                  {.bias = 2, .is_transposed = transposes_b});
  }
  const DraftId product =
      matrix_product(context, context.tensor(0), context.tensor(1), {transposes_a, transposes_b});
  const DraftId y = scaled(context, product, context.real("alpha", 1));
  if (!context.has(2)) return y;
  const DraftId c = scaled(context, context.tensor(2), context.real("beta", 1));
  return context.add(Elementwise{}, {y, c}, {}, "add");
}

void lower_gemm(OpContext& context) { context.set(0, gemm(context)); }

void lower_fused_gemm(OpContext& context) {
  context.set(0, with_fused_activation(context, gemm(context)));
}

void lower_gemm_fast_gelu(OpContext& context) {
  DraftId y = product_of_inputs(context, 0, 1);
  if (context.has(2)) y = context.add(Elementwise{}, {y, context.tensor(2)}, {}, "bias");
  context.set(0, context.add(Unary{UnaryKind::gelu_tanh}, {y}, {}, "gelu"));
}

// A matrix of N×K numbers of 2 to 8 bits, packed in blocks.
void lower_matmul_n_bits(OpContext& context) {
  const std::int64_t outputs = context.integer("N", 0);
  const std::int64_t inputs = context.integer("K", 0);
  if (outputs < 1 || inputs < 1) {
    fail(ErrorKind::input, "N and K are at least 1, got {} and {}", outputs, inputs);
  }
  const DraftId weight = context.weight(1, {outputs, inputs}, "weight");
  const DraftId x = context.tensor(0);
  DraftId y = context.add(Linear{outputs, false}, {x}, {weight});
  if (context.has(5)) y = context.add(Elementwise{}, {y, context.tensor(5)}, {}, "bias");
  context.set(0, y);
}

constexpr std::array product_rows = {
    OpRow{"DynamicQuantizeMatMul", lower_quantised_matmul<4>},
    OpRow{"Einsum", lower_einsum},
    OpRow{"FusedGemm", lower_fused_gemm},
    OpRow{"FusedMatMul", lower_fused_matmul},
    OpRow{"Gemm", lower_gemm},
    OpRow{"GemmFastGelu", lower_gemm_fast_gelu},
    OpRow{"MatMul", lower_matmul},
    OpRow{"MatMulInteger", lower_matmul},
    OpRow{"MatMulIntegerToFloat", lower_quantised_matmul<6>},
    OpRow{"MatMulNBits", lower_matmul_n_bits},
    OpRow{"QLinearMatMul", lower_qlinear_matmul},
    OpRow{"TransposeMatMul", lower_fused_matmul},
};

}  // namespace

bool is_matrix_weight(OpContext& context, std::size_t input) {
  return context.is_constant(input) && context.rank(input) == 2;
}

DraftId linear(OpContext& context, DraftId x, const LinearInputs& inputs, const char* suffix) {
  const Shape stored = context.shape(inputs.weight);
  std::int64_t ins = number_of(context, stored[0], "an extent of the weight");
  std::int64_t outs = number_of(context, stored[1], "an extent of the weight");
  if (inputs.is_transposed) std::swap(ins, outs);
  const Dim meets = context.draft().shape(x).empty() ? Dim(1) : context.draft().shape(x).back();
  if (meets.is_number() && !meets.is(ins)) {
    fail(ErrorKind::input, "the weight expects {} inputs, the last axis has {}", ins, meets.factor);
  }
  std::vector<DraftId> own = {context.weight(inputs.weight, {outs, ins}, "weight")};
  // Of several parts (queries and values have one, keys do not) it is put together by nodes.
  const bool owns_bias = context.has(inputs.bias) && is_vector(context.shape(inputs.bias)) &&
                         elements_of(context.shape(inputs.bias), context.symbols()).is(outs) &&
                         (context.is_constant(inputs.bias) || context.is_made(inputs.bias));
  if (owns_bias) {
    own.push_back(context.weight_or_made(inputs.bias, {outs}, "bias", own.front()));
  }
  const DraftId y = context.add(Linear{outs, owns_bias}, std::array{x}, own, suffix);
  if (owns_bias || !context.has(inputs.bias)) return y;
  return context.add(Elementwise{}, {y, context.tensor(inputs.bias)}, {}, "bias");
}

DraftId matrix_product(OpContext& context, DraftId a, DraftId b, const MatMul& op) {
  Shape row = context.draft().shape(a);
  Shape column = context.draft().shape(b);
  const bool is_row = row.size() == 1;
  const bool is_column = column.size() == 1;
  if (row.empty() || column.empty()) fail(ErrorKind::input, "a product with a scalar");
  if (is_row) row = {1, row[0]};
  if (is_column) column = {column[0], 1};
  DraftId y =
      context.add(op, {context.reshaped(a, row, "row"), context.reshaped(b, column, "column")});
  const Shape full = context.draft().shape(y);
  Shape shape = full;
  if (is_column) shape = without_axis(shape, shape.size() - 1);
  if (is_row) shape = without_axis(shape, shape.size() - (is_column ? 1 : 2));
  return context.reshaped(y, shape);
}

std::span<const OpRow> product_ops() { return product_rows; }

}  // namespace strata::onnx
