// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/onednn/products.hpp"

#include "strata/measure/cpu/onednn/operators.hpp"

#include <algorithm>

namespace strata::cpu_training::onednn {

void add_sum(Computation& to, const Tensor& from, const Tensor& sums) {
  if (from.layout.dims() == sums.layout.dims()) return to.add_reorder(from, sums);
  to.add(dnnl::reduction::primitive_desc(
             {dnnl::algorithm::reduction_sum, from.layout, sums.layout, 0.0F, 0.0F}, attributes(),
             cpu_engine()),
         {{DNNL_ARG_SRC, from}}, {{DNNL_ARG_DST, sums}});
}

namespace {

Dims strides_of(const Layout& layout) {
  const auto* const first = layout.data.format_desc.blocking.strides;
  return Dims(first, first + layout.dims().size());
}

bool is_stored_transposed(const Layout& matrices) {
  return matrices.dims().back() > 1 && strides_of(matrices).back() != 1;
}

/// The same matrices with strides that BLAS takes: those of an axis with one element may be
/// anything, and oneDNN passes them on.
Layout with_leading_strides(const Layout& matrices) {
  const Dims dims = matrices.dims();
  Dims strides = strides_of(matrices);
  const std::size_t row = dims.size() - 2, column = dims.size() - 1;
  if (dims[column] == 1) strides[column] = 1;
  if (dims[row] == 1) strides[row] = strides[column] == 1 ? dims[column] : 1;
  return strided(dims, strides);
}

}  // namespace

void add_product(Computation& to, const Tensor& a, const Tensor& b, const Tensor& y, float scale) {
  if (is_stored_transposed(y.layout)) {  // Yᵀ = Bᵀ Aᵀ
    return add_product(to, transposed(b), transposed(a), transposed(y), scale);
  }
  const Layout of_a = with_leading_strides(a.layout), of_b = with_leading_strides(b.layout);
  const Dims a_dims = of_a.dims(), b_dims = of_b.dims(), y_dims = y.layout.dims();
  Dims dims = y_dims;  // of the product; where Y is broadcast, several of them are added up
  for (std::size_t axis = 0; axis + 2 < dims.size(); ++axis) {
    dims[axis] = std::max(a_dims[axis], b_dims[axis]);
  }
  const Tensor product =
      dims == y_dims ? Tensor{y.place, with_leading_strides(y.layout)} : to.scratch(dense(dims));
  to.add(
      dnnl::matmul::primitive_desc({of_a, of_b, product.layout}, attributes(scale), cpu_engine()),
      {{DNNL_ARG_SRC, {a.place, of_a}}, {DNNL_ARG_WEIGHTS, {b.place, of_b}}},
      {{DNNL_ARG_DST, product}});
  if (dims != y_dims) add_sum(to, product, y);
}

Tensor transposed(const Tensor& matrices) {
  const auto axes = static_cast<int>(matrices.layout.dims().size());
  std::vector<int> order(static_cast<std::size_t>(axes));
  for (int axis = 0; axis < axes; ++axis) order[static_cast<std::size_t>(axis)] = axis;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return {matrices.place, matrices.layout.permute_axes(order)};
}

namespace {

/// A tensor of a MatMul as matrices, with as many leading axes as Y has.
Layout matrices_of(const BoundTensor& tensor, std::size_t axes) {
  Dims dims = dims_of(tensor);
  dims.insert(dims.begin(), axes - dims.size(), 1);
  return dense(dims);
}

/// [a, b, m, k] as [1, 1, a·b·m, k]: rows of all matrices as rows of one.
Layout folded(const Layout& matrices) {
  Dims dims = matrices.dims();
  const std::size_t rows = dims.size() - 2;
  for (std::size_t axis = 0; axis < rows; ++axis) {
    dims[rows] *= dims[axis];
    dims[axis] = 1;
  }
  return dense(dims);
}

bool has_one_matrix(const Layout& matrices) {
  const Dims dims = matrices.dims();
  return std::all_of(dims.begin(), dims.end() - 2, [](std::int64_t extent) { return extent == 1; });
}

}  // namespace

std::optional<KernelPair> make_kernels(const MatMul& op, const NodeContext& context) {
  const std::size_t axes = std::max<std::size_t>(2, context.output().axes());
  Layout a = matrices_of(context.input(0), axes), b = matrices_of(context.input(1), axes);
  Layout y = matrices_of(context.output(), axes);
  // A product with one matrix for all samples is one product, as PyTorch computes it.
  if (has_one_matrix(b) && !op.transpose_a) {
    a = folded(a);
    y = folded(y);
  }
  const auto transposed_if = [](bool is_transposed, const Tensor& tensor) {
    return is_transposed ? transposed(tensor) : tensor;
  };
  const Tensor of_a = transposed_if(op.transpose_a, {input(0), a});
  const Tensor of_b = transposed_if(op.transpose_b, {input(1), b});
  const Tensor dy{output_gradient(0), y};
  Computation forward;
  add_product(forward, of_a, of_b, {output(0), y});
  std::vector<Computation> backward;
  if (context.wants(0)) {
    add_product(backward.emplace_back(), dy, transposed(of_b),
                transposed_if(op.transpose_a, {input_gradient(0), a}));
  }
  if (context.wants(1)) {
    add_product(backward.emplace_back(), transposed(of_a), dy,
                transposed_if(op.transpose_b, {input_gradient(1), b}));
  }
  return pair_of(std::move(forward), std::move(backward), {.inputs = true}, context);
}

std::optional<KernelPair> make_kernels(const Linear& op, const NodeContext& context) {
  if (op.bias && context.wants(1) != context.wants(2)) return std::nullopt;  // made together
  const std::int64_t features = op.features, inputs = context.input(1)[1];
  const std::int64_t rows = context.input().elements / inputs;
  const Layout src = dense({rows, inputs}), weights = dense({features, inputs});
  const Layout dst = dense({rows, features}), bias = op.bias ? dense({features}) : Layout();
  const Tensor w{input(1), weights}, dy{output_gradient(0), dst};

  const dnnl::inner_product_forward::primitive_desc description(
      {forward_kind(context), src, weights, bias, dst}, attributes(), cpu_engine());
  Computation forward;
  std::vector<Argument> reads = {{DNNL_ARG_SRC, {input(0), src}}, {DNNL_ARG_WEIGHTS, w}};
  if (op.bias) reads.push_back({DNNL_ARG_BIAS, {input(2), bias}});
  forward.add(description, reads, {{DNNL_ARG_DST, {output(0), dst}}});

  std::vector<Computation> backward;
  if (context.wants(0)) {
    backward.emplace_back().add(dnnl::inner_product_backward_data::primitive_desc(
                                    {src, weights, dst}, attributes(), cpu_engine(), description),
                                {{DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_DST, dy}},
                                {{DNNL_ARG_DIFF_SRC, {input_gradient(0), src}}});
  }
  if (context.wants(1)) {
    std::vector<Argument> writes = {{DNNL_ARG_DIFF_WEIGHTS, {input_gradient(1), weights}}};
    if (op.bias) writes.push_back({DNNL_ARG_DIFF_BIAS, {input_gradient(2), bias}});
    backward.emplace_back().add(
        dnnl::inner_product_backward_weights::primitive_desc(
            {src, weights, bias, dst}, attributes(), cpu_engine(), description),
        {{DNNL_ARG_SRC, {input(0), src}}, {DNNL_ARG_DIFF_DST, dy}}, writes);
  }
  return pair_of(std::move(forward), std::move(backward), {.inputs = true}, context);
}

}  // namespace strata::cpu_training::onednn
