// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/passes.hpp"
#include "strata/importers/onnx/passes/pattern.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

// Activations as exporters write them out, as products of x and a gate:
//   GELU        x · ½ · (1 + erf(x/√2)),  or with tanh(√(2/π)·(x + 0.044715 x³))
//   SiLU        x · sigmoid(x)
//   hard swish  x · relu6(x + 3) / 6,  x · hard_sigmoid(x)
//   mish        x · tanh(softplus(x))
namespace strata::onnx {
namespace {

/// A product taken apart: its factors that are tensors, and what all scalars make together.
struct Product {
  std::vector<DraftId> factors;
  double scalar = 1;
};

constexpr int deepest_product = 4;

// Follows products and quotients by scalars downwards; what others read is not looked into.
void take_apart(const Draft& draft, const Uses& uses, DraftId tensor, int depth, Product& product) {
  const DraftNode* const node = draft.producer<Elementwise>(tensor);
  const bool may_open = node != nullptr && (depth == 0 || uses.is_single(tensor)) &&
                        node->inputs.size() == 2 && depth < deepest_product;
  if (may_open) {
    const ElementwiseKind kind = op_of<Elementwise>(*node).kind;
    const std::optional<ScalarOperand> scaled = with_scalar(draft, *node);
    if (kind == ElementwiseKind::multiply && scaled) {
      product.scalar *= scaled->scalar;
      return take_apart(draft, uses, scaled->tensor, depth + 1, product);
    }
    if (kind == ElementwiseKind::divide && scaled && scaled->is_second && scaled->scalar != 0) {
      product.scalar /= scaled->scalar;
      return take_apart(draft, uses, scaled->tensor, depth + 1, product);
    }
    if (kind == ElementwiseKind::multiply) {
      take_apart(draft, uses, node->inputs[0], depth + 1, product);
      take_apart(draft, uses, node->inputs[1], depth + 1, product);
      return;
    }
  }
  product.factors.push_back(tensor);
}

// tensor = inner + scalar
std::optional<DraftId> plus(const Draft& draft, DraftId tensor, double scalar) {
  const DraftNode* const sum = made_by(draft, tensor, ElementwiseKind::add);
  if (sum == nullptr) return std::nullopt;
  const std::optional<ScalarOperand> match = with_scalar(draft, *sum);
  if (!match || !is_near(match->scalar, scalar)) return std::nullopt;
  return match->tensor;
}

// tensor = x · factor, as a product or as a quotient
bool is_scaled(const Draft& draft, DraftId tensor, DraftId x, double factor) {
  const DraftNode* const node = draft.producer<Elementwise>(tensor);
  if (node == nullptr) return false;
  const std::optional<ScalarOperand> match = with_scalar(draft, *node);
  if (!match || match->tensor != x) return false;
  switch (op_of<Elementwise>(*node).kind) {
    case ElementwiseKind::multiply: return is_near(match->scalar, factor);
    case ElementwiseKind::divide: return match->is_second && is_near(match->scalar, 1 / factor);
    default: return false;
  }
}

// Whether everything that the tensor is computed from is x and constants, within a few steps.
bool hangs_on(const Draft& draft, DraftId tensor, DraftId x, int steps) {
  if (tensor == x || draft.is_stored(tensor)) return true;
  const DraftNode* const node = draft.producer(tensor);
  const bool is_pointwise = node != nullptr && (std::holds_alternative<Elementwise>(*node->op) ||
                                                std::holds_alternative<Unary>(*node->op));
  if (!is_pointwise || steps == 0 || node->inputs.size() > 3) return false;
  return std::all_of(node->inputs.begin(), node->inputs.end(),
                     [&](DraftId input) { return hangs_on(draft, input, x, steps - 1); });
}

constexpr int steps_of_gelu = 6;

std::optional<UnaryKind> gelu(const Draft& draft, DraftId gate, DraftId x) {
  const std::optional<DraftId> inner = plus(draft, gate, 1);
  if (!inner) return std::nullopt;
  if (const DraftNode* const erf = made_by(draft, *inner, UnaryKind::error_function)) {
    if (is_scaled(draft, erf->inputs[0], x, std::sqrt(0.5))) return UnaryKind::gelu;
  }
  if (const DraftNode* const tanh = made_by(draft, *inner, UnaryKind::tanh)) {
    if (hangs_on(draft, tanh->inputs[0], x, steps_of_gelu)) return UnaryKind::gelu_tanh;
  }
  return std::nullopt;
}

// What x times the gate, times the scalar, is called.
std::optional<UnaryKind> gated(const Draft& draft, DraftId x, DraftId gate, double scalar) {
  if (is_near(scalar, 0.5)) return gelu(draft, gate, x);
  if (is_near(scalar, 1.0 / 6)) {
    const DraftNode* const clip = made_by(draft, gate, UnaryKind::relu6);
    if (clip != nullptr && plus(draft, clip->inputs[0], 3) == x) return UnaryKind::hard_swish;
    return std::nullopt;
  }
  if (scalar != 1) return std::nullopt;
  const auto is_of_x = [&](UnaryKind kind) {
    const DraftNode* const node = made_by(draft, gate, kind);
    return node != nullptr && node->inputs[0] == x;
  };
  if (is_of_x(UnaryKind::sigmoid)) return UnaryKind::silu;
  if (is_of_x(UnaryKind::hard_sigmoid)) return UnaryKind::hard_swish;
  if (const DraftNode* const tanh = made_by(draft, gate, UnaryKind::tanh)) {
    const DraftNode* const inner = made_by(draft, tanh->inputs[0], UnaryKind::softplus);
    if (inner != nullptr && inner->inputs[0] == x) return UnaryKind::mish;
  }
  return std::nullopt;
}

}  // namespace

void fuse_activations(Session& session) {
  Draft& draft = session.draft;
  const Uses uses(draft);
  Rewriter rewriter(draft);
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    const DraftNode& node = draft.nodes[id];
    const auto* op = std::get_if<Elementwise>(node.op.get());
    const bool may_be_root = op != nullptr && (op->kind == ElementwiseKind::multiply ||
                                               op->kind == ElementwiseKind::divide);
    if (!may_be_root) continue;
    Product product;
    take_apart(draft, uses, node.outputs[0], 0, product);
    if (product.factors.size() != 2) continue;
    for (std::size_t side = 0; side < 2; ++side) {
      const DraftId x = product.factors[side];
      const DraftId gate = product.factors[1 - side];
      const std::optional<UnaryKind> kind = gated(draft, x, gate, product.scalar);
      if (!kind) continue;
      rewriter.place_before(id);
      rewriter.replace(node.outputs[0], rewriter.add(Unary{*kind}, {x}, node.origin));
      break;
    }
  }
  if (rewriter.has_changes()) rewriter.apply();
}

}  // namespace strata::onnx
