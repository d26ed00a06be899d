// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/batch_norms.hpp"

#include "strata/base/text.hpp"
#include "strata/importers/onnx/passes/pattern.hpp"
#include "strata/importers/onnx/passes/readers.hpp"

#include <algorithm>
#include <array>

namespace strata::onnx {
namespace {

template <class... Ops>
bool is_any(const DraftNode& node) {
  return (std::holds_alternative<Ops>(*node.op) || ...);
}

bool is_other_norm(const DraftNode& node) {
  return is_any<LayerNorm, GroupNorm, RmsNorm, LocalResponseNorm>(node);
}

bool moves_only(const DraftNode& node) { return is_any<Reshape, Flatten, Transpose, Cast>(node); }

// PyTorch's new exporter leaves the path of the normalisation at the convolution, the old one
// renames the weights it has changed; TensorFlow's converter says so outright.
bool says_folded(const Session& session, const DraftNode& convolution) {
  const NodeDef& def = *session.flat.nodes[convolution.origin].def;
  const std::string_view weight =
      session.draft.tensors[convolution.inputs[convolution.first_own]].name;
  return has_part(def.scopes, "batch_norm") || weight.starts_with("onnx::Conv_") ||
         has_part(weight, "fused_bn");
}

bool has_batch_norm(const Draft& draft, const Uses& uses, const DraftNode& convolution) {
  const DraftNode* const reader = uses.only_reader(draft, convolution.outputs[0]);
  return reader != nullptr && is_any<BatchNorm>(*reader);
}

/// Where a convolution stands in the network.
class Surroundings {
 public:
  explicit Surroundings(const Draft& draft) : draft_(draft), uses_(draft), readers_(draft) {}

  bool may_lack_norm(const DraftNode& convolution) {
    steps_ = 0;
    return !has_batch_norm(draft_, uses_, convolution) && !is_beside_norm(convolution) &&
           !is_on_pooled_channels(convolution) && !cuts_patches(convolution) &&
           !leads_to_output(convolution.outputs[0]);
  }

 private:
  // Layer and group normalisation, before or after it.
  bool is_beside_norm(const DraftNode& convolution) const {
    DraftId after = convolution.outputs[0];
    for (int step = 0; step < longest_walk; ++step) {
      const DraftNode* const reader = uses_.only_reader(draft_, after);
      if (reader == nullptr) break;
      if (is_other_norm(*reader)) return true;
      if (!moves_only(*reader)) break;
      after = reader->outputs[0];
    }
    const DraftNode* before = draft_.producer(convolution.inputs[0]);
    for (int step = 0; step < longest_walk && before != nullptr; ++step) {
      if (is_other_norm(*before)) return true;
      if (!moves_only(*before)) break;
      before = draft_.producer(before->inputs[0]);
    }
    return false;
  }

  // Squeeze and excitation: one number per channel is left of the image.
  bool is_on_pooled_channels(const DraftNode& convolution) const {
    const Shape& shape = draft_.shape(convolution.outputs[0]);
    return shape.size() > 2 &&
           std::all_of(shape.begin() + 2, shape.end(), [](Dim extent) { return extent.is(1); });
  }

  // A patch embedding: the windows do not overlap, and the image becomes a sequence.
  bool cuts_patches(const DraftNode& convolution) const {
    const auto& op = op_of<Convolution>(convolution);
    const DraftNode* const reader = uses_.only_reader(draft_, convolution.outputs[0]);
    return op.kernel == op.stride && !op.kernel.empty() && op.kernel[0] > 1 && reader != nullptr &&
           is_any<Reshape, Flatten, Transpose>(*reader);
  }

  // A prediction: nothing learnt and no sum of branches stands between it and the outputs.
  bool leads_to_output(DraftId tensor) {
    constexpr int most_steps = 100;
    if (++steps_ > most_steps) return false;
    const std::span<const NodeId> readers = readers_.of(tensor);
    return std::all_of(readers.begin(), readers.end(), [&](NodeId id) {
      const DraftNode& reader = draft_.nodes[id];
      const bool passes_on =
          moves_only(reader) || is_any<Unary, Softmax, Pool, AdaptivePool, Reduce, Slice, Split,
                                       Concat, Dropout, Resize, SpaceToDepth>(reader);
      if (!passes_on || reader.first_own < reader.inputs.size()) return false;
      return std::all_of(reader.outputs.begin(), reader.outputs.end(),
                         [&](DraftId output) { return leads_to_output(output); });
    });
  }

  const Draft& draft_;
  Uses uses_;
  Readers readers_;
  int steps_ = 0;
};

}  // namespace

std::vector<NodeId> named_folded(const Session& session) {
  const Draft& draft = session.draft;
  const Uses uses(draft);
  std::vector<NodeId> found;
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    const DraftNode& node = draft.nodes[id];
    if (!is_any<Convolution>(node) || has_batch_norm(draft, uses, node)) continue;
    if (says_folded(session, node)) found.push_back(id);
  }
  return found;
}

std::vector<NodeId> probably_folded(const Draft& draft) {
  Surroundings surroundings(draft);
  std::vector<NodeId> found;
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    const DraftNode& node = draft.nodes[id];
    if (is_any<Convolution>(node) && surroundings.may_lack_norm(node)) found.push_back(id);
  }
  return found;
}

// The bias of a convolution that a normalisation follows is that normalisation's shift.
void put_batch_norms(Draft& draft, std::span<const NodeId> convolutions) {
  Rewriter rewriter(draft);
  for (const NodeId id : convolutions) {
    const DraftNode& node = draft.nodes[id];
    Convolution op = op_of<Convolution>(node);
    op.bias = false;
    const DType dtype = draft.type(node.outputs[0]).dtype;
    const auto stored = [&](const char* role, TensorKind kind) {
      return draft.add_tensor({.type = {{op.channels}, dtype}, .role = role, .kind = kind});
    };
    const std::array own = {
        stored("weight", TensorKind::parameter), stored("bias", TensorKind::parameter),
        stored("running_mean", TensorKind::buffer), stored("running_var", TensorKind::buffer)};
    rewriter.place_before(id);
    const DraftId y =
        rewriter.add(op, std::span(node.inputs).first(node.first_own),
                     std::span(node.inputs).subspan(node.first_own, 1), node.origin, node.suffix);
    rewriter.replace(node.outputs[0],
                     rewriter.add(BatchNorm{}, std::array{y}, own, node.origin, "bn"));
  }
  if (rewriter.has_changes()) rewriter.apply();
}

}  // namespace strata::onnx
