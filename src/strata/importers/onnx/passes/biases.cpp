// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/passes.hpp"
#include "strata/importers/onnx/passes/pattern.hpp"

#include <algorithm>
#include <map>

namespace strata::onnx {
namespace {

/// A product or convolution without a bias, and the vector that is added to it: stored, or of a
/// product put together by nodes.
struct Biased {
  const DraftNode* node;
  DraftId vector;
  std::int64_t length;
};

// One number per output channel: [C, 1, 1] or [1, C, 1, 1] beside [N, C, H, W].
bool covers_channels(const Draft& draft, DraftId stored, const Shape& y) {
  if (!draft.is_stored(stored) || y.size() < 3) return false;
  const Shape& shape = draft.shape(stored);
  if (shape.size() + 1 < y.size() || shape.size() > y.size()) return false;
  const std::size_t channel_axis = shape.size() + 1 - y.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != (axis == channel_axis ? y[1] : Dim(1))) return false;
  }
  return true;
}

std::optional<Biased> biased(const Draft& draft, const Uses& uses, const DraftNode& sum) {
  for (std::size_t side = 0; side < 2; ++side) {
    const DraftId product = sum.inputs[side];
    const DraftId vector = sum.inputs[1 - side];
    const DraftNode* const node = draft.producer(product);
    if (node == nullptr || !uses.is_single(product)) continue;
    if (!is_floating(draft.type(vector).dtype)) continue;
    if (const auto* linear = std::get_if<Linear>(node->op.get())) {
      const bool is_made = draft.tensors[vector].kind == TensorKind::activation &&
                           draft.shape(vector) == Shape{linear->features};
      const bool fits =
          !linear->bias && (is_made || covers_last(draft, vector, {linear->features}));
      if (fits) return Biased{node, vector, linear->features};
    }
    if (const auto* convolution = std::get_if<Convolution>(node->op.get())) {
      const bool fits = !convolution->bias && covers_channels(draft, vector, draft.shape(product));
      if (fits) return Biased{node, vector, convolution->channels};
    }
  }
  return std::nullopt;
}

}  // namespace

void merge_biases(Session& session) {
  Draft& draft = session.draft;
  const Uses uses(draft);
  Rewriter rewriter(draft);
  // A layer that is applied twice has one bias.
  std::map<std::pair<DraftId, RootId>, DraftId> biases;
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    const DraftNode& sum = draft.nodes[id];
    const auto* op = std::get_if<Elementwise>(sum.op.get());
    if (op == nullptr || op->kind != ElementwiseKind::add || sum.inputs.size() != 2) continue;
    const std::optional<Biased> match = biased(draft, uses, sum);
    if (!match || draft.shape(match->node->outputs[0]) != draft.shape(sum.outputs[0])) continue;

    const DraftNode& layer = *match->node;
    const DraftId weight = layer.inputs[layer.first_own];
    const auto [place, is_new] =
        biases.try_emplace({weight, draft.tensors[match->vector].root}, no_tensor);
    if (!draft.is_stored(match->vector)) {
      place->second = match->vector;
    } else if (is_new || draft.tensors[match->vector].root == no_root) {
      place->second = with_shape(draft, match->vector, {match->length}, "bias");
    }
    const std::array own = {weight, place->second};
    const std::span<const DraftId> data = std::span(layer.inputs).first(layer.first_own);
    rewriter.place_before(id);
    rewriter.replace(sum.outputs[0],
                     rewriter.add(with_bias(*layer.op), data, own, layer.origin, layer.suffix));
  }
  if (rewriter.has_changes()) rewriter.apply();
}

}  // namespace strata::onnx
