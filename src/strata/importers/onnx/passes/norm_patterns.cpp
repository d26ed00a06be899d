// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/passes.hpp"
#include "strata/importers/onnx/passes/pattern.hpp"

#include <optional>

// Layer normalisation as exporters write it out:
//   d = x − mean(x);  y = d / sqrt(mean(d²) + ε) · scale + shift
// RMS normalisation is the same with x in place of d and no shift. TensorFlow folds the scale in:
//   g = scale / sqrt(mean(d²) + ε);  y = x·g + (shift − mean(x)·g)
namespace strata::onnx {
namespace {

/// How many of the last axes a mean goes over; nothing when it is not such a mean.
std::optional<std::size_t> axes_of_mean(const Draft& draft, const DraftNode& node) {
  const auto& op = op_of<Reduce>(node);
  const std::size_t rank = draft.shape(node.inputs[0]).size();
  if (op.kind != ReduceKind::mean || !op.keep_axes || op.axes.empty()) return std::nullopt;
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    if (op.axes[i] != static_cast<std::int64_t>(rank - op.axes.size() + i)) return std::nullopt;
  }
  return op.axes.size();
}

/// What a denominator sqrt(mean(d²) + ε) is made of.
struct Deviation {
  DraftId of;  ///< d
  std::size_t axes;
};

std::optional<Deviation> deviation(const Draft& draft, DraftId denominator) {
  const DraftNode* const root =
      made_by(draft, behind_casts(draft, denominator), UnaryKind::square_root);
  if (root == nullptr) return std::nullopt;
  DraftId variance = behind_casts(draft, root->inputs[0]);
  if (const DraftNode* const sum = made_by(draft, variance, ElementwiseKind::add)) {
    const std::optional<ScalarOperand> epsilon = with_scalar(draft, *sum);
    if (!epsilon) return std::nullopt;
    variance = behind_casts(draft, epsilon->tensor);
  }
  const DraftNode* const mean = draft.producer<Reduce>(variance);
  if (mean == nullptr) return std::nullopt;
  const std::optional<std::size_t> axes = axes_of_mean(draft, *mean);
  if (!axes) return std::nullopt;
  const DraftId squared = behind_casts(draft, mean->inputs[0]);
  if (const DraftNode* const square = made_by(draft, squared, UnaryKind::square)) {
    return Deviation{behind_casts(draft, square->inputs[0]), *axes};
  }
  const DraftNode* const product = made_by(draft, squared, ElementwiseKind::multiply);
  if (product == nullptr || product->inputs[0] != product->inputs[1]) return std::nullopt;
  return Deviation{behind_casts(draft, product->inputs[0]), *axes};
}

/// x of d = x − mean(x) over so many axes.
std::optional<DraftId> centred(const Draft& draft, DraftId d, std::size_t axes) {
  const DraftNode* const difference = made_by(draft, d, ElementwiseKind::subtract);
  if (difference == nullptr) return std::nullopt;
  const DraftNode* const mean = draft.producer<Reduce>(behind_casts(draft, difference->inputs[1]));
  if (mean == nullptr || axes_of_mean(draft, *mean) != axes) return std::nullopt;
  const DraftId x = behind_casts(draft, difference->inputs[0]);
  if (behind_casts(draft, mean->inputs[0]) != x) return std::nullopt;
  return x;
}

/// A normalisation without scale and shift: where it starts and where it ends.
struct Core {
  DraftId x;
  DraftId y;
  std::size_t axes;
  bool is_rms;
};

// d over a deviation, or d times its reciprocal; d may be there twice.
std::optional<Core> core_of(const Draft& draft, const DraftNode& node) {
  const auto& op = op_of<Elementwise>(node);
  if (node.inputs.size() != 2) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    DraftId denominator = node.inputs[1 - side];
    if (op.kind == ElementwiseKind::multiply) {
      const DraftNode* const inverse =
          made_by(draft, behind_casts(draft, denominator), UnaryKind::reciprocal);
      if (inverse == nullptr) continue;
      denominator = inverse->inputs[0];
    } else if (op.kind != ElementwiseKind::divide || side == 1) {
      continue;
    }
    const std::optional<Deviation> match = deviation(draft, denominator);
    if (!match) continue;
    const DraftId numerator = behind_casts(draft, node.inputs[side]);
    const std::optional<DraftId> x = centred(draft, match->of, match->axes);
    if (x && (numerator == match->of || centred(draft, numerator, match->axes) == x)) {
      return Core{*x, node.outputs[0], match->axes, false};
    }
    if (!x && numerator == match->of) return Core{numerator, node.outputs[0], match->axes, true};
  }
  return std::nullopt;
}

Shape last_extents(const Shape& x, std::size_t axes) {
  const std::span<const Dim> extents = x;
  return Shape(extents.subspan(x.size() - axes));
}

/// A whole normalisation.
struct Norm {
  DraftId x;
  DraftId y;
  std::size_t axes;
  bool is_rms;
  DraftId scale = no_tensor;
  DraftId shift = no_tensor;
};

// The only reader of y, if it is y ∘ (a stored tensor that covers the normalised axes).
struct Affine {
  DraftId stored;
  DraftId y;
};

std::optional<Affine> affine_reader(const Draft& draft, const Uses& uses, DraftId y,
                                    ElementwiseKind kind, const Shape& extents) {
  const DraftNode* reader = uses.only_reader(draft, y);
  if (reader != nullptr && std::holds_alternative<Cast>(*reader->op)) {
    y = reader->outputs[0];
    reader = uses.only_reader(draft, y);
  }
  if (reader == nullptr) return std::nullopt;
  const auto* op = std::get_if<Elementwise>(reader->op.get());
  if (op == nullptr || op->kind != kind) return std::nullopt;
  const std::optional<DraftId> stored = other_operand(*reader, y);
  if (!stored || !covers_last(draft, *stored, extents)) return std::nullopt;
  return Affine{*stored, reader->outputs[0]};
}

Norm completed(const Draft& draft, const Uses& uses, const Core& core) {
  const Shape extents = last_extents(draft.shape(core.x), core.axes);
  Norm norm{core.x, core.y, core.axes, core.is_rms};
  if (const auto scale = affine_reader(draft, uses, norm.y, ElementwiseKind::multiply, extents)) {
    norm.scale = scale->stored;
    norm.y = scale->y;
  }
  if (core.is_rms) return norm;
  if (const auto shift = affine_reader(draft, uses, norm.y, ElementwiseKind::add, extents)) {
    norm.shift = shift->stored;
    norm.y = shift->y;
  }
  return norm;
}

// g = scale · 1/sqrt(…)
std::optional<std::pair<Deviation, DraftId>> folded_scale(const Draft& draft, DraftId g) {
  const DraftNode* const product = made_by(draft, g, ElementwiseKind::multiply);
  if (product == nullptr) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    const DraftNode* const inverse = made_by(draft, product->inputs[side], UnaryKind::reciprocal);
    if (inverse == nullptr || !draft.is_stored(product->inputs[1 - side])) continue;
    if (const auto match = deviation(draft, inverse->inputs[0])) {
      return std::pair(*match, product->inputs[1 - side]);
    }
  }
  return std::nullopt;
}

// x·g + (shift − mean·g)
std::optional<Norm> folded(const Draft& draft, const DraftNode& sum) {
  if (op_of<Elementwise>(sum).kind != ElementwiseKind::add || sum.inputs.size() != 2) {
    return std::nullopt;
  }
  for (std::size_t side = 0; side < 2; ++side) {
    const DraftNode* const product = made_by(draft, sum.inputs[side], ElementwiseKind::multiply);
    const DraftNode* const rest = made_by(draft, sum.inputs[1 - side], ElementwiseKind::subtract);
    if (product == nullptr || rest == nullptr || !draft.is_stored(rest->inputs[0])) continue;
    for (std::size_t factor = 0; factor < 2; ++factor) {
      const DraftId g = product->inputs[factor];
      const auto match = folded_scale(draft, g);
      if (!match) continue;
      const std::optional<DraftId> x = centred(draft, match->first.of, match->first.axes);
      const DraftNode* const shifted = made_by(draft, rest->inputs[1], ElementwiseKind::multiply);
      if (!x || *x != product->inputs[1 - factor] || shifted == nullptr) continue;
      if (!other_operand(*shifted, g)) continue;
      const Shape extents = last_extents(draft.shape(*x), match->first.axes);
      if (!covers_last(draft, match->second, extents)) continue;
      if (!covers_last(draft, rest->inputs[0], extents)) continue;
      return Norm{*x, sum.outputs[0], match->first.axes, false, match->second, rest->inputs[0]};
    }
  }
  return std::nullopt;
}

bool has_numbers(const Shape& extents) {
  for (const Dim extent : extents) {
    if (!extent.is_number()) return false;
  }
  return true;
}

void put_norm(Draft& draft, Rewriter& rewriter, const Norm& norm, std::uint32_t origin) {
  const Shape extents = last_extents(draft.shape(norm.x), norm.axes);
  const bool has_scale = norm.scale != no_tensor;
  const bool has_shift = norm.shift != no_tensor;
  std::vector<DraftId> own;
  if (has_scale) own.push_back(with_shape(draft, norm.scale, extents, "weight"));
  if (has_shift) own.push_back(with_shape(draft, norm.shift, extents, "bias"));
  const auto axis = -static_cast<std::int64_t>(norm.axes);
  const Operator op = norm.is_rms ? Operator(RmsNorm{axis, has_scale})
                                  : Operator(LayerNorm{axis, has_scale, has_shift});
  rewriter.place_before(draft.tensors[norm.y].producer);
  DraftId y = rewriter.add(op, std::array{norm.x}, own, origin);
  const DType dtype = draft.type(norm.y).dtype;
  if (draft.type(y).dtype != dtype) y = rewriter.add(Cast{dtype}, {y}, origin, "cast");
  rewriter.replace(norm.y, y);
}

}  // namespace

void fuse_norms(Session& session) {
  Draft& draft = session.draft;
  const Uses uses(draft);
  Rewriter rewriter(draft);
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    const DraftNode& node = draft.nodes[id];
    if (!std::holds_alternative<Elementwise>(*node.op)) continue;
    std::optional<Norm> norm = folded(draft, node);
    if (!norm) {
      const std::optional<Core> core = core_of(draft, node);
      if (core) norm = completed(draft, uses, *core);
    }
    // Statistics over an axis of open length have no weight of known size, and are left apart.
    if (!norm || !has_numbers(last_extents(draft.shape(norm->x), norm->axes))) continue;
    put_norm(draft, rewriter, *norm, node.origin);
  }
  if (rewriter.has_changes()) rewriter.apply();
}

}  // namespace strata::onnx
