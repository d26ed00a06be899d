// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/ops.hpp"

#include <array>

namespace strata::onnx {
namespace {

// −log_probabilities[target], then the mean or sum over all.
DraftId picked_loss(OpContext& context, DraftId log_probabilities) {
  const Shape x = context.draft().shape(log_probabilities);
  if (x.size() < 2 || context.rank(1) + 1 != x.size()) {
    fail(ErrorKind::input, "targets of {} axes for scores of {}", context.rank(1), x.size());
  }
  const Shape all = {elements_of(x, context.symbols())};
  const DraftId flat = context.reshaped(log_probabilities, all, "flat");
  const DraftId picked = context.add(Gather{0}, {flat, context.tensor(1)}, {}, "pick");
  const DraftId loss = context.add(Unary{UnaryKind::negate}, {picked}, {}, "negate");
  const std::string_view reduction = context.word("reduction", "mean");
  if (reduction == "none") return loss;
  const ReduceKind kind = reduction == "sum" ? ReduceKind::sum : ReduceKind::mean;
  return context.add(Reduce{kind, {}, false}, {loss}, {}, "reduce");
}

void lower_negative_log_likelihood(OpContext& context) {
  context.set(0, picked_loss(context, context.tensor(0)));
}

// Scores [N, classes, …] and targets [N, …]; the logarithms of probabilities are a second result.
void lower_softmax_cross_entropy(OpContext& context) {
  const DraftId scores = context.tensor(0);
  const bool is_mean = context.word("reduction", "mean") == "mean";
  const auto log_probabilities = [&] { return context.add(Softmax{1, true}, {scores}, {}, "log"); };
  if (is_mean) {
    const DraftId targets = context.tensor(1);
    context.set(0, context.add(SoftmaxCrossEntropy{1}, {scores, targets}));
    // Made only if somebody reads it: dead nodes are taken out.
    if (context.wants(1)) context.set(1, log_probabilities());
    return;
  }
  const DraftId log = log_probabilities();
  context.set(0, picked_loss(context, log));
  context.set(1, log);
}

constexpr std::array loss_rows = {
    OpRow{"NegativeLogLikelihoodLoss", lower_negative_log_likelihood},
    OpRow{"SoftmaxCrossEntropyLoss", lower_softmax_cross_entropy},
    OpRow{"SoftmaxCrossEntropyLossInternal", lower_softmax_cross_entropy},
};

}  // namespace

std::span<const OpRow> loss_ops() { return loss_rows; }

}  // namespace strata::onnx
