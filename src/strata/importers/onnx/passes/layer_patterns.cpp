// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/importers/onnx/passes/passes.hpp"
#include "strata/importers/onnx/passes/pattern.hpp"

#include <array>
#include <optional>

namespace strata::onnx {
namespace {

// One number per channel, as [C, 1, …] or [1, C, 1, …] beside [N, C, …].
bool is_per_channel(const Draft& draft, DraftId stored, const Shape& x) {
  if (!draft.is_stored(stored) || x.size() < 2) return false;
  const Shape& shape = draft.shape(stored);
  if (shape.size() + 1 < x.size() || shape.size() > x.size()) return false;
  const std::size_t channel_axis = shape.size() + 1 - x.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != (axis == channel_axis ? x[1] : Dim(1))) return false;
  }
  return true;
}

/// The only reader, if it combines the tensor with one stored number per channel.
struct PerChannel {
  const DraftNode* node;
  DraftId stored;
};

std::optional<PerChannel> per_channel_reader(const Draft& draft, const Uses& uses, DraftId y,
                                             ElementwiseKind kind) {
  const DraftNode* const reader = uses.only_reader(draft, y);
  if (reader == nullptr) return std::nullopt;
  const auto* op = std::get_if<Elementwise>(reader->op.get());
  if (op == nullptr || op->kind != kind) return std::nullopt;
  const std::optional<DraftId> stored = other_operand(*reader, y);
  if (!stored || !is_per_channel(draft, *stored, draft.shape(y))) return std::nullopt;
  return PerChannel{reader, *stored};
}

// Caffe normalises without scale and shift and adds both in a layer of their own: γ₂(γ₁x̂ + β₁) + β₂
// has as many degrees of freedom as one pair.
void fuse_scale(Draft& draft, const Uses& uses, Rewriter& rewriter, const DraftNode& norm) {
  const auto scale = per_channel_reader(draft, uses, norm.outputs[0], ElementwiseKind::multiply);
  if (!scale) return;
  const auto shift = per_channel_reader(draft, uses, scale->node->outputs[0], ElementwiseKind::add);
  if (!shift) return;
  const std::size_t buffers = norm.inputs.size() - 2;
  const Shape channels = draft.shape(norm.inputs[buffers]);
  const std::array own = {with_shape(draft, scale->stored, channels, "weight"),
                          with_shape(draft, shift->stored, channels, "bias"), norm.inputs[buffers],
                          norm.inputs[buffers + 1]};
  const DraftId y = shift->node->outputs[0];
  rewriter.place_before(draft.tensors[y].producer);
  rewriter.replace(y, rewriter.add(BatchNorm{}, std::array{norm.inputs[0]}, own, norm.origin));
}

/// PyTorch's group normalisation: [N, C, …] → [N, g, rest] → instance normalisation → [N, C, …],
/// then a scale and a shift per channel.
struct Groups {
  DraftId x;
  DraftId y;
  std::int64_t count;
};

std::optional<Groups> groups_of(const Draft& draft, const Uses& uses, const DraftNode& norm) {
  if (!(op_of<GroupNorm>(norm) == GroupNorm{0, false, false})) return std::nullopt;
  const DraftNode* const split = draft.producer<Reshape>(norm.inputs[0]);
  const DraftNode* const join = uses.only_reader(draft, norm.outputs[0]);
  if (split == nullptr || join == nullptr || !std::holds_alternative<Reshape>(*join->op)) {
    return std::nullopt;
  }
  const Shape& x = draft.shape(split->inputs[0]);
  const Shape& parted = draft.shape(split->outputs[0]);
  const bool splits_channels =
      x.size() >= 3 && parted.size() == 3 && parted[0] == x[0] && parted[1].is_number() &&
      x[1].is_number() && x[1].factor % parted[1].factor == 0 && draft.shape(join->outputs[0]) == x;
  if (!splits_channels) return std::nullopt;
  return Groups{split->inputs[0], join->outputs[0], parted[1].factor};
}

void fuse_group_norm(Draft& draft, const Uses& uses, Rewriter& rewriter, const DraftNode& norm) {
  const std::optional<Groups> groups = groups_of(draft, uses, norm);
  if (!groups) return;
  GroupNorm op{groups->count, false, false};
  const Shape channels = {draft.shape(groups->x)[1]};
  std::vector<DraftId> own;
  DraftId y = groups->y;
  if (const auto scale = per_channel_reader(draft, uses, y, ElementwiseKind::multiply)) {
    op.scale = true;
    own.push_back(with_shape(draft, scale->stored, channels, "weight"));
    y = scale->node->outputs[0];
  }
  const auto shift = per_channel_reader(draft, uses, y, ElementwiseKind::add);
  if (shift && op.scale) {
    op.shift = true;
    own.push_back(with_shape(draft, shift->stored, channels, "bias"));
    y = shift->node->outputs[0];
  }
  rewriter.place_before(draft.tensors[y].producer);
  rewriter.replace(y, rewriter.add(op, std::array{groups->x}, own, norm.origin));
}

// [N, C, …] → [N, g, C/g, …] → swapped → [N, C, …]
void fuse_shuffle(Draft& draft, const Uses& uses, Rewriter& rewriter, const DraftNode& transpose) {
  const Axes& order = op_of<Transpose>(transpose).permutation;
  if (order.size() < 4) return;
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    const std::size_t expected = axis == 1 ? 2 : axis == 2 ? 1 : axis;
    if (order[axis] != static_cast<std::int64_t>(expected)) return;
  }
  const DraftNode* const split = draft.producer<Reshape>(transpose.inputs[0]);
  const DraftNode* const join = uses.only_reader(draft, transpose.outputs[0]);
  if (split == nullptr || join == nullptr || !std::holds_alternative<Reshape>(*join->op)) return;
  const Shape x = draft.shape(split->inputs[0]);
  const Shape parted = draft.shape(split->outputs[0]);
  const bool splits_channels = x.size() >= 3 && parted.size() >= 4 && parted[0] == x[0] &&
                               parted[1].is_number() && parted[2].is_number() && x[1].is_number() &&
                               draft.shape(join->outputs[0]) == x;
  if (!splits_channels || checked_mul(parted[1].factor, parted[2].factor) != x[1].factor) return;
  rewriter.place_before(draft.tensors[join->outputs[0]].producer);
  rewriter.replace(join->outputs[0], rewriter.add(ChannelShuffle{parted[1].factor},
                                                  {split->inputs[0]}, transpose.origin));
}

}  // namespace

void fuse_layers(Session& session) {
  Draft& draft = session.draft;
  const Uses uses(draft);
  Rewriter rewriter(draft);
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    const DraftNode& node = draft.nodes[id];
    if (std::holds_alternative<BatchNorm>(*node.op)) fuse_scale(draft, uses, rewriter, node);
    if (std::holds_alternative<GroupNorm>(*node.op)) fuse_group_norm(draft, uses, rewriter, node);
    if (std::holds_alternative<Transpose>(*node.op)) fuse_shuffle(draft, uses, rewriter, node);
  }
  if (rewriter.has_changes()) rewriter.apply();
}

}  // namespace strata::onnx
