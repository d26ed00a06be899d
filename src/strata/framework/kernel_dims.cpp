// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/kernel_dims.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <string>

namespace strata {
namespace {

double number(std::int64_t count) { return static_cast<double>(count); }

double product_of(const BoundTensor& tensor, std::size_t from, std::size_t to) {
  double product = 1;
  for (std::size_t axis = from; axis < to; ++axis) product *= number(tensor[axis]);
  return product;
}

/// Axes that are normalised or summed: from `axis` to the last.
KernelDims rows_from(const BoundTensor& tensor, std::int64_t axis) {
  const auto axes = static_cast<std::int64_t>(tensor.axes());
  const auto first =
      static_cast<std::size_t>(std::clamp<std::int64_t>(axis < 0 ? axis + axes : axis, 0, axes));
  return {product_of(tensor, 0, first), product_of(tensor, first, tensor.axes())};
}

KernelDims rows_of_node(const BoundTensor& tensor, RuleTensor of, const BoundNode& node) {
  const Operator& op = node.node().op;
  if (const auto* attention = std::get_if<Attention>(&op); attention && of == RuleTensor::scores)
    return {number(node.input()[0] * attention->heads * node.input()[1]), number(node.input(1)[1])};
  if (const auto* norm = std::get_if<LayerNorm>(&op)) return rows_from(tensor, norm->axis);
  if (const auto* norm = std::get_if<RmsNorm>(&op)) return rows_from(tensor, norm->axis);
  if (const auto* norm = std::get_if<GroupNorm>(&op)) {
    const double groups = number(norm->groups == 0 ? tensor[1] : norm->groups);
    return {number(tensor[0]) * groups, number(tensor.elements) / number(tensor[0]) / groups};
  }
  if (std::holds_alternative<AdaptivePool>(op) || std::holds_alternative<Pool>(op) ||
      std::holds_alternative<BatchNorm>(op))
    return rows_from(tensor, 2);
  if (const auto* softmax = std::get_if<Softmax>(&op)) {
    const auto axes = static_cast<std::int64_t>(tensor.axes());
    const double columns =
        number(tensor[static_cast<std::size_t>(softmax->axis + (softmax->axis < 0 ? axes : 0))]);
    return {number(tensor.elements) / columns, columns};
  }
  if (std::holds_alternative<Reduce>(op)) {
    const double rows = number(std::max<std::int64_t>(node.output().elements, 1));
    return {rows, number(node.input().elements) / rows};
  }
  return rows_from(tensor, -1);
}

KernelDims product_of_node(OperationClass kernel_class, const BoundNode& node) {
  const Operator& op = node.node().op;
  const std::string_view name = name_of(kernel_class);
  if (const auto* linear = std::get_if<Linear>(&op)) {
    const double k = number(node.input().shape.back()), n = number(linear->features);
    const double m = number(node.input().elements) / k;
    if (name == "linear.backward_input") return {1, m, k, n};
    if (name == "linear.backward_weight") return {1, n, k, m};
    return {1, m, n, k};
  }
  if (const auto* attention = std::get_if<Attention>(&op)) {
    const double batch = number(node.input()[0] * attention->heads);
    const double queries = number(node.input()[1]), keys = number(node.input(1)[1]);
    const double width = number(node.input()[2]) / number(attention->heads);
    if (name == "batched.nt") return {batch, queries, keys, width};
    return {batch, queries, width, keys};
  }
  const BoundTensor &a = node.input(), &c = node.output();
  if (name.starts_with("linear.")) {  // the second operand is a matrix
    const double n = number(c.shape.back()), k = number(a.shape.back());
    const double m = number(a.elements) / k;
    if (name == "linear.backward_input") return {1, m, k, n};
    if (name == "linear.backward_weight") return {1, n, k, m};
    return {1, m, n, k};
  }
  const std::size_t axes = c.axes();
  if (axes < 2 || a.axes() < 2) return {1, 1, number(c.elements), number(a.elements)};
  const double m = number(c[axes - 2]), n = number(c[axes - 1]);
  const double batch = number(c.elements) / m / n;
  const double k = number(a.elements) / (product_of(a, 0, a.axes() - 2) * m);
  if (name == "batched.nt") return {batch, m, k, n};
  if (name == "batched.tn") return {batch, k, n, m};
  return {batch, m, n, k};
}

/// Of a transposed one: of the convolution whose adjoint it is, from its output to its input.
KernelDims convolution_dims_of(const BoundNode& node) {
  const auto& op = std::get<Convolution>(node.node().op);
  const BoundTensor& x = op.transposed ? node.output() : node.input();
  const BoundTensor& y = op.transposed ? node.input() : node.output();
  double window = 1;
  for (const std::int64_t extent : op.kernel) window *= number(extent);
  return {number(x[0]),
          number(x[1]),
          number(y[1]),
          product_of(x, 2, x.axes()),
          product_of(y, 2, y.axes()),
          window,
          number(op.groups)};
}

KernelDims pool_dims_of(const BoundNode& node) {
  double window = 1;
  if (const auto* pool = std::get_if<Pool>(&node.node().op)) {
    for (const std::int64_t extent : pool->kernel) window *= number(extent);
  } else {
    window =
        number(node.input().elements) / number(std::max<std::int64_t>(node.output().elements, 1));
  }
  return {number(node.input().elements), number(node.output().elements), window};
}

}  // namespace

double elements_of(RuleTensor of, const BoundNode& node) {
  if (of == RuleTensor::one) return 1;
  if (of == RuleTensor::weight) {
    const std::size_t own = node.node().first_own;
    return own < node.node().inputs.size() ? number(node.input(own).elements) : 0;
  }
  if (of == RuleTensor::scores) {
    if (const auto* attention = std::get_if<Attention>(&node.node().op))
      return number(node.input()[0] * attention->heads * node.input()[1]) *
             number(node.input(1)[1]);
  }
  if (of == RuleTensor::packed)
    return number(node.input(0).elements + node.input(1).elements + node.input(2).elements);
  return number((of == RuleTensor::output ? node.output() : node.input()).elements);
}

bool BoundNode::has_bias() const {
  const Operator& op = node().op;
  if (const auto* convolution = std::get_if<Convolution>(&op)) return convolution->bias;
  if (const auto* linear = std::get_if<Linear>(&op)) return linear->bias;
  return false;
}

bool BoundNode::has_window() const {
  const auto* convolution = std::get_if<Convolution>(&node().op);
  if (convolution == nullptr) return false;
  return std::any_of(convolution->kernel.begin(), convolution->kernel.end(),
                     [](std::int64_t extent) { return extent > 1; });
}

bool BoundNode::is_broadcast() const {
  for (std::size_t i = 0; i < node().inputs.size(); ++i) {
    if (input(i).wants_gradient && input(i).elements < output().elements) return true;
  }
  return false;
}

std::int64_t BoundNode::smallest_input() const {
  std::int64_t smallest = output().elements;
  for (std::size_t i = 0; i < node().inputs.size(); ++i)
    smallest = std::min(smallest, input(i).elements);
  return smallest;
}

bool BoundNode::is_broadcast_along_rows() const {
  for (std::size_t i = 0; i < node().inputs.size(); ++i) {
    const BoundTensor& small = input(i);
    if (small.wants_gradient && small.axes() > 0 && output().axes() > 1 &&
        small.elements == small.shape.back() && small.shape.back() == output().shape.back() &&
        small.elements < output().elements)
      return true;
  }
  return false;
}

/// Sums of so few numbers each are no reduction: a thread has a sum of its own.
bool sums_few(const BoundNode& node) {
  constexpr std::int64_t few = 16;
  return std::holds_alternative<Reduce>(node.node().op) &&
         node.input().elements <= few * node.output().elements;
}

OperationClass class_for(const LaunchRule& rule, const BoundNode& node, bool channels_last) {
  if (form_of(rule.kernel_class) == KernelForm::rows && sums_few(node))
    return *operation_class_named("stream.copy");
  const auto* op = std::get_if<Convolution>(&node.node().op);
  const std::string_view name = name_of(rule.kernel_class);
  if (channels_last && name.starts_with("batch_norm.") && node.output().axes() > 2)
    return *operation_class_named("batch_norm_nhwc" + std::string(name.substr(name.find('.'))));
  if (op == nullptr || !name.starts_with("convolution.")) return rule.kernel_class;
  const std::int64_t channels = (op->transposed ? node.output() : node.input())[1];
  std::string_view pass = name.substr(name.find('.'));
  if (op->transposed && pass != ".backward_weight")
    pass = pass == ".forward" ? ".backward_input" : ".forward";
  const bool is_volume = node.output().axes() == 5;
  std::string kind = is_volume ? "convolution_3d" : "convolution";
  if (op->groups == 1 && channels <= 4 && !is_volume) kind = "first";
  if (op->groups > 1) kind = op->groups == channels ? "depthwise" : "grouped";
  if (channels_last && !is_volume) kind += "_nhwc";
  const auto found = operation_class_named(kind + std::string(pass));
  STRATA_CHECK(found.has_value(), "every kind of convolution has its classes");
  return *found;
}

KernelDims dims_for(OperationClass kernel_class, RuleTensor of, const BoundNode& node) {
  const BoundTensor& tensor = of == RuleTensor::input ? node.input() : node.output();
  switch (form_of(kernel_class)) {
    case KernelForm::elements: return {elements_of(of, node)};
    case KernelForm::rows: return rows_of_node(tensor, of, node);
    case KernelForm::channels: {
      const double channels = number(tensor.axes() > 1 ? tensor[1] : 1);
      return {channels, number(tensor.elements) / channels};
    }
    case KernelForm::pool: return pool_dims_of(node);
    case KernelForm::product: return product_of_node(kernel_class, node);
    case KernelForm::convolution:
    case KernelForm::depthwise: return convolution_dims_of(node);
    case KernelForm::lookup: {
      const auto& op = std::get<Embedding>(node.node().op);
      return {number(node.input().elements), number(op.vocabulary), number(op.width)};
    }
    case KernelForm::recurrent: {
      const auto& op = std::get<Recurrent>(node.node().op);
      return {number(node.input()[0]), number(node.input()[1]), number(node.input()[2]),
              number(op.hidden), number(op.layers * (op.bidirectional ? 2 : 1))};
    }
    case KernelForm::attention: {
      const auto& op = std::get<Attention>(node.node().op);
      return {number(node.input()[0]),
              number(op.heads),
              number(node.input()[1]),
              number(node.input(1)[1]),
              number(node.input()[2]) / number(op.heads),
              op.causal ? 2.0 : 1.0};
    }
    case KernelForm::list: break;
  }
  return {};
}

}  // namespace strata
