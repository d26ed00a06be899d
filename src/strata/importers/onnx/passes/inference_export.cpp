// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/onnx/passes/batch_norms.hpp"
#include "strata/importers/onnx/passes/left_out.hpp"
#include "strata/importers/onnx/passes/passes.hpp"

#include <fmt/format.h>

#include <algorithm>

// Exporters write networks for inference: batch normalisation is folded into the convolution before
// it, dropout is left out. Training needs both, and batch normalisation takes much of its time.
namespace strata::onnx {
namespace {

// In evaluation mode PyTorch's exporter folds whatever the other arguments say.
constexpr std::string_view way_out =
    "call model.train() and export with torch.onnx.export(model, args, file, "
    "training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False), "
    "with dynamo=False as well from PyTorch 2.5 on";

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
};

bool is_residual(const Draft& draft, const DraftNode& node) {
  return std::get<Elementwise>(*node.op).kind == ElementwiseKind::add && node.inputs.size() == 2 &&
         !draft.is_stored(node.inputs[0]) && !draft.is_stored(node.inputs[1]);
}

Census census_of(const Draft& draft) {
  Census census;
  for (const DraftNode& node : draft.nodes) {
    if (const auto* convolution = std::get_if<Convolution>(node.op.get())) {
      ++census.convolutions;
      if (convolution->groups > 1 && convolution->groups == convolution->channels) {
        ++census.depthwise;
      }
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
  return census.batch_norms == 0 && census.convolutions >= deep && census.norms == 0 &&
         (census.residuals >= several || census.depthwise >= several);
}

bool looks_undropped(const Session& session, const Census& census) {
  if (census.dropouts > 0 || census.rms_norms > 0) return false;
  const bool is_classifier_of_old = census.convolutions > 0 && census.linears >= 2 &&
                                    census.attentions == 0 && census.residuals == 0;
  return census.attentions > 1 || census.recurrents > 1 || is_classifier_of_old ||
         lacks_module_before_head(session);
}

void warn_of_folding(Session& session, const Census& census, std::size_t named) {
  if (named > 0 && census.batch_norms > 0) {
    session.warn(
        WarningCode::batch_norm_folded,
        fmt::format("the export folded {} of its {} batch normalisations into the convolutions "
                    "before them, and training results lack their time; {}, or put them back with "
                    "--assume-bn",
                    named, named + census.batch_norms, way_out));
  } else if (named > 0 || looks_folded(census)) {
    session.warn(
        WarningCode::batch_norm_folded,
        fmt::format("no batch normalisation follows its {} convolutions: {}, and training results "
                    "lack their time; {}, or put them back with --assume-bn",
                    census.convolutions,
                    named > 0 ? "the export folded them into the weights"
                              : "an export for inference folds them into the weights",
                    way_out));
  }
}

// Where names say which are folded, those; where some are left, no others; else by the structure.
void assume_batch_norms(Session& session, const Census& census, std::vector<NodeId> folded) {
  if (census.convolutions > most_convolutions) {
    fail(ErrorKind::unsupported, "--assume-bn for more than {} convolutions", most_convolutions);
  }
  if (folded.empty() && census.batch_norms == 0) folded = probably_folded(session.draft);
  put_batch_norms(session, folded);
  session.warn(WarningCode::value_assumed,
               folded.empty()
                   ? fmt::format("--assume-bn adds none: no batch normalisation is missing after "
                                 "its {} convolutions",
                                 census.convolutions)
                   : fmt::format("a batch normalisation is assumed after {} of {} convolutions",
                                 folded.size(), census.convolutions));
}

// What the file itself says was there is no guess, and needs no flag.
void restore_recorded_norms(Session& session) {
  const Draft& draft = session.draft;
  std::vector<NodeId> recorded = named_folded(session);
  std::erase_if(recorded,
                [&](NodeId id) { return recorded_norm(session, draft.nodes[id]).empty(); });
  if (!recorded.empty() && recorded.size() <= most_convolutions) {
    put_batch_norms(session, recorded);
    session.warn(
        WarningCode::value_assumed,
        fmt::format("{} batch normalisation{} that the export folded into convolutions {} "
                    "put back, as the file names {} tensors; not with --no-fuse",
                    recorded.size(), recorded.size() == 1 ? "" : "s",
                    recorded.size() == 1 ? "is" : "are", recorded.size() == 1 ? "its" : "their"));
  }
}

}  // namespace

void restore_training_layers(Session& session) {
  if (session.options.fuse) restore_recorded_norms(session);
  restore_left_out_biases(session);
  warn_of_left_out_biases(session);
  const Census census = census_of(session.draft);
  std::vector<NodeId> folded = named_folded(session);
  if (!session.options.assume_batch_norm) {
    warn_of_folding(session, census, folded.size());
  } else if (census.convolutions > 0) {
    assume_batch_norms(session, census, std::move(folded));
  }
  if (looks_undropped(session, census)) {
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
