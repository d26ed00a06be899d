// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/onednn/operators.hpp"
#include "strata/measure/cpu/onednn/products.hpp"
#include "strata/measure/cpu/operators.hpp"

namespace strata::cpu_training::onednn {
namespace {

using Algorithm = dnnl::algorithm;

Algorithm algorithm_of(ElementwiseKind kind) {
  switch (kind) {
    case ElementwiseKind::add:
    case ElementwiseKind::mean: return Algorithm::binary_add;
    case ElementwiseKind::subtract: return Algorithm::binary_sub;
    case ElementwiseKind::multiply: return Algorithm::binary_mul;
    case ElementwiseKind::divide: return Algorithm::binary_div;
    case ElementwiseKind::maximum: return Algorithm::binary_max;
    case ElementwiseKind::minimum: return Algorithm::binary_min;
    default: return Algorithm::undef;
  }
}

/// An input with as many axes as the result.
Layout layout_of(const BoundTensor& tensor, const BoundTensor& result) {
  Dims dims = dims_of(tensor);
  dims.insert(dims.begin(), dims_of(result).size() - dims.size(), 1);
  return dense(dims);
}

/// y = f(a, b). oneDNN broadcasts the second operand; the first may be where the order does not
/// matter.
void add_binary(Computation& to, Algorithm algorithm, Tensor a, Tensor b, const Tensor& y) {
  const bool is_symmetric =
      algorithm != Algorithm::binary_sub && algorithm != Algorithm::binary_div;
  if (is_symmetric && a.layout.dims() != y.layout.dims()) std::swap(a, b);
  to.add(dnnl::binary::primitive_desc({algorithm, a.layout, b.layout, y.layout}, attributes(),
                                      cpu_engine()),
         {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}}, {{DNNL_ARG_DST, y}});
}

void add_scaling(Computation& to, const Tensor& x, float factor) {
  const Layout& data = x.layout;
  to.add(dnnl::eltwise_forward::primitive_desc(
             {dnnl::prop_kind::forward_inference, Algorithm::eltwise_linear, data, factor, 0.0F},
             attributes(), cpu_engine()),
         {{DNNL_ARG_SRC, x}}, {{DNNL_ARG_DST, x}});
}

/// Whether oneDNN's primitives make the gradients, too: those of sums and of products of two.
bool has_gradients(ElementwiseKind kind, std::size_t inputs) {
  return kind == ElementwiseKind::add || kind == ElementwiseKind::mean ||
         kind == ElementwiseKind::subtract || (kind == ElementwiseKind::multiply && inputs == 2);
}

Computation gradient_of(ElementwiseKind kind, std::size_t i, const NodeContext& context) {
  Computation backward;
  const Tensor dy{output_gradient(0), dense(context.output())};
  const Tensor dx{input_gradient(i), layout_of(context.input(i), context.output())};
  if (kind == ElementwiseKind::multiply) {
    const std::size_t other = 1 - i;
    const Tensor factor{input(other), layout_of(context.input(other), context.output())};
    const bool is_broadcast = dx.layout.dims() != dy.layout.dims();
    const Tensor product = is_broadcast ? backward.scratch(dy.layout) : dx;
    add_binary(backward, Algorithm::binary_mul, dy, factor, product);
    if (is_broadcast) add_sum(backward, product, dx);
    return backward;
  }
  add_sum(backward, dy, dx);
  if (kind == ElementwiseKind::subtract && i == 1) add_scaling(backward, dx, -1);
  if (kind == ElementwiseKind::mean) {
    add_scaling(backward, dx, 1 / static_cast<float>(context.input_count()));
  }
  return backward;
}

}  // namespace

std::optional<KernelPair> make_kernels(const Elementwise& op, const NodeContext& context) {
  const Algorithm algorithm = algorithm_of(op.kind);
  const std::size_t inputs = context.input_count();
  if (algorithm == Algorithm::undef || inputs < 2) return std::nullopt;
  const Tensor y{output(0), dense(context.output())};
  const auto operand = [&](std::size_t i) {
    return Tensor{input(i), layout_of(context.input(i), context.output())};
  };
  Computation forward;
  add_binary(forward, algorithm, operand(0), operand(1), y);
  for (std::size_t i = 2; i < inputs; ++i) add_binary(forward, algorithm, y, operand(i), y);
  if (op.kind == ElementwiseKind::mean) add_scaling(forward, y, 1 / static_cast<float>(inputs));

  if (!has_gradients(op.kind, inputs)) {
    return with_forward(std::get<KernelPair>(plain::make_kernels(op, context)), std::move(forward));
  }
  std::vector<Computation> backward;
  for (std::size_t i = 0; i < inputs; ++i) {
    if (context.wants(i)) backward.push_back(gradient_of(op.kind, i, context));
  }
  return pair_of(std::move(forward), std::move(backward),
                 {.inputs = op.kind == ElementwiseKind::multiply}, context);
}

}  // namespace strata::cpu_training::onednn
