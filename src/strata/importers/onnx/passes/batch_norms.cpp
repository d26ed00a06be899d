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

std::string_view recorded_norm(const Session& session, const DraftNode& convolution) {
  // "['', 'layer1', 'layer1.0.bn1', '_native_batch_norm_legit_no_training']"
  const std::string_view scopes = session.flat.nodes[convolution.origin].def->scopes;
  const std::size_t function = scopes.rfind("batch_norm");
  if (function == std::string_view::npos) return {};
  const std::string_view before = scopes.substr(0, scopes.rfind('\'', function));
  const std::size_t end = before.rfind('\'');
  if (end == std::string_view::npos || end == 0) return {};
  const std::size_t begin = before.rfind('\'', end - 1);
  if (begin == std::string_view::npos) return {};
  const std::string_view module = before.substr(begin + 1, end - begin - 1);
  const std::string mean = std::string(module) + ".running_mean";
  return session.signature.name_in_file(mean).substr(0, module.size());
}

namespace {

/// A batch normalisation to put back, with the tensors that it had.
class RestoredNorm {
 public:
  RestoredNorm(Session& session, const DraftNode& convolution)
      : session_(session),
        convolution_(convolution),
        module_(recorded_norm(session, convolution)),
        dtype_(session.draft.type(convolution.outputs[0]).dtype) {}

  DraftId put(Rewriter& rewriter) {
    Convolution op = op_of<Convolution>(convolution_);
    const std::span<const DraftId> all = convolution_.inputs;
    std::vector<DraftId> own = {all[convolution_.first_own]};
    const std::string_view bias = recorded_bias();
    if (!bias.empty()) {
      own.push_back(op.bias ? all[convolution_.first_own + 1]
                            : stored(bias, "bias", TensorKind::parameter));
    }
    op.bias = !bias.empty();
    const DraftId y = rewriter.add(op, all.first(convolution_.first_own), own, convolution_.origin,
                                   convolution_.suffix);
    BatchNorm norm;
    norm.scale = module_.empty() || learns("weight");
    norm.shift = module_.empty() || learns("bias");
    std::vector<DraftId> statistics;
    if (norm.scale) statistics.push_back(of_norm("weight", TensorKind::parameter));
    if (norm.shift) statistics.push_back(of_norm("bias", TensorKind::parameter));
    statistics.push_back(of_norm("running_mean", TensorKind::buffer));
    statistics.push_back(of_norm("running_var", TensorKind::buffer));
    // The node of the file has the path of the normalisation where that is recorded.
    return rewriter.add(norm, std::array{y}, statistics, convolution_.origin,
                        module_.empty() ? "bn" : "");
  }

 private:
  std::string path(std::string_view tensor) const {
    return std::string(module_).append(1, '.').append(tensor);
  }
  bool learns(std::string_view tensor) const {
    return session_.signature.is_learnt(path(tensor)).value_or(false);
  }

  // That the convolution had one of its own; most have none before a normalisation.
  std::string_view recorded_bias() const {
    const std::string_view weight =
        session_.draft.tensors[convolution_.inputs[convolution_.first_own]].name;
    constexpr std::string_view ending = "weight";
    if (module_.empty() || !weight.ends_with(ending)) return {};
    const std::string bias =
        std::string(weight.substr(0, weight.size() - ending.size())).append("bias");
    if (!session_.signature.is_learnt(bias).value_or(false)) return {};
    return session_.signature.name_in_file(bias);
  }

  DraftId of_norm(const char* tensor, TensorKind kind) {
    const std::string_view name =
        module_.empty() ? std::string_view() : session_.signature.name_in_file(path(tensor));
    return stored(name, tensor, kind);
  }

  DraftId stored(std::string_view name, const char* role, TensorKind kind) {
    const std::int64_t channels = op_of<Convolution>(convolution_).channels;
    return session_.draft.add_tensor(
        {.type = {{channels}, dtype_}, .name = name, .role = role, .kind = kind});
  }

  Session& session_;
  const DraftNode& convolution_;
  std::string_view module_;
  DType dtype_;
};

}  // namespace

void put_batch_norms(Session& session, std::span<const NodeId> convolutions) {
  Draft& draft = session.draft;
  Rewriter rewriter(draft);
  for (const NodeId id : convolutions) {
    const DraftNode& node = draft.nodes[id];
    rewriter.place_before(id);
    rewriter.replace(node.outputs[0], RestoredNorm(session, node).put(rewriter));
  }
  if (rewriter.has_changes()) rewriter.apply();
}

}  // namespace strata::onnx
