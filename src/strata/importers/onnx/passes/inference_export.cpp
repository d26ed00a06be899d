// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/onnx/passes/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

// Exporters write networks for inference: batch normalisation is folded into the convolution before
// it, dropout is left out. Training needs both, and batch normalisation takes much of its time.
namespace strata::onnx {
namespace {

constexpr std::string_view way_out =
    "export with torch.onnx.export(model, args, file, "
    "training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False, dynamo=False)";

// Each gets a node and four tensors more.
constexpr std::size_t most_convolutions = 20'000;

template <class Op>
bool is(const DraftNode& node) {
  return std::holds_alternative<Op>(*node.op);
}

struct Census {
  std::size_t convolutions = 0;
  std::size_t depthwise = 0;
  std::size_t norms = 0;
  std::size_t batch_norms = 0;
  std::size_t rms_norms = 0;
  std::size_t dropouts = 0;
  std::size_t attentions = 0;
  std::size_t recurrents = 0;
  std::size_t residuals = 0;  ///< sums of two activations
  std::size_t linears = 0;
  std::size_t weights = 0;
  std::size_t whole_weights = 0;  ///< of whole numbers
  bool says_folded = false;       ///< names in the file speak of a folding
};

// PyTorch's new exporter leaves the path of the normalisation at the convolution, the old one
// renames the weights it has changed; TensorFlow's converter says so outright.
bool says_folded(const Session& session, const DraftNode& convolution) {
  const NodeDef& def = *session.flat.nodes[convolution.origin].def;
  const std::string_view weight =
      session.draft.tensors[convolution.inputs[convolution.first_own]].name;
  return has_part(def.scopes, "batch_norm") || weight.starts_with("onnx::Conv_") ||
         has_part(weight, "fused_bn");
}

bool is_residual(const Draft& draft, const DraftNode& node) {
  return std::get<Elementwise>(*node.op).kind == ElementwiseKind::add && node.inputs.size() == 2 &&
         !draft.is_stored(node.inputs[0]) && !draft.is_stored(node.inputs[1]);
}

Census census_of(const Session& session) {
  const Draft& draft = session.draft;
  Census census;
  for (const DraftNode& node : draft.nodes) {
    if (const auto* convolution = std::get_if<Convolution>(node.op.get())) {
      ++census.convolutions;
      if (convolution->groups > 1 && convolution->groups == convolution->channels) {
        ++census.depthwise;
      }
      census.says_folded = census.says_folded || says_folded(session, node);
    }
    census.batch_norms += is<BatchNorm>(node) ? 1 : 0;
    census.rms_norms += is<RmsNorm>(node) ? 1 : 0;
    census.norms += is<LayerNorm>(node) || is<GroupNorm>(node) || is<LocalResponseNorm>(node);
    census.dropouts += is<Dropout>(node) ? 1 : 0;
    census.attentions += is<Attention>(node) ? 1 : 0;
    census.recurrents += is<Recurrent>(node) ? 1 : 0;
    census.linears += is<Linear>(node) ? 1 : 0;
    census.residuals += is<Elementwise>(node) && is_residual(draft, node) ? 1 : 0;
    for (const DraftId own : std::span(node.inputs).subspan(node.first_own)) {
      if (draft.tensors[own].kind != TensorKind::parameter) continue;
      ++census.weights;
      census.whole_weights += is_floating(draft.type(own).dtype) ? 0 : 1;
    }
  }
  return census;
}

// Residual and depthwise networks of some depth do not train without a normalisation.
bool looks_folded(const Census& census) {
  constexpr std::size_t deep = 8;
  constexpr std::size_t several = 3;
  if (census.batch_norms > 0) return false;
  if (census.says_folded) return true;
  return census.convolutions >= deep && census.norms == 0 &&
         (census.residuals >= several || census.depthwise >= several);
}

bool looks_undropped(const Census& census) {
  if (census.dropouts > 0 || census.rms_norms > 0) return false;
  const bool is_classifier_of_old = census.convolutions > 0 && census.linears >= 2 &&
                                    census.attentions == 0 && census.residuals == 0;
  return census.attentions > 1 || census.recurrents > 1 || is_classifier_of_old;
}

// The bias of a convolution that a normalisation follows is that normalisation's shift.
std::size_t put_batch_norms(Draft& draft) {
  const Uses uses(draft);
  Rewriter rewriter(draft);
  std::size_t count = 0;
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    const DraftNode& node = draft.nodes[id];
    if (!is<Convolution>(node)) continue;
    const DraftNode* const reader = uses.only_reader(draft, node.outputs[0]);
    if (reader != nullptr && is<BatchNorm>(*reader)) continue;
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
    ++count;
  }
  if (rewriter.has_changes()) rewriter.apply();
  return count;
}

}  // namespace

void restore_training_layers(Session& session) {
  const Census census = census_of(session);
  if (session.options.assume_batch_norm) {
    if (census.convolutions > most_convolutions) {
      fail(ErrorKind::unsupported, "--assume-bn for more than {} convolutions", most_convolutions);
    }
    const std::size_t count = put_batch_norms(session.draft);
    if (count > 0) {
      session.warn(WarningCode::value_assumed,
                   fmt::format("a batch normalisation is assumed after {} of {} convolutions",
                               count, census.convolutions));
    }
  } else if (looks_folded(census)) {
    session.warn(
        WarningCode::batch_norm_folded,
        fmt::format("no batch normalisation follows its {} convolutions: {}, and training results "
                    "lack their time; {}, or put one after each convolution with --assume-bn",
                    census.convolutions,
                    census.says_folded ? "the export folded them into the weights"
                                       : "an export for inference folds them into the weights",
                    way_out));
  }
  if (looks_undropped(census)) {
    session.warn(
        WarningCode::dropout_missing,
        fmt::format("there is no dropout, which an export for inference leaves out; {}", way_out));
  }
  if (census.weights > 0 && census.whole_weights == census.weights) {
    session.warn(WarningCode::value_assumed,
                 "all its weights are whole numbers, which have no gradient: it is taken for a "
                 "network for inference, without a backward pass; export it before quantisation");
  }
}

}  // namespace strata::onnx
