// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/ops.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace strata::onnx {
namespace {

// Nothing: the operator does nothing (no axes, and told to do nothing then).
std::optional<Reduce> reduction(OpContext& context, ReduceKind kind) {
  const auto axes = context.axes(1, "axes");
  const bool is_empty = !axes || axes->empty();
  if (is_empty && context.integer("noop_with_empty_axes", 0) != 0) return std::nullopt;
  Reduce op{kind, {}, context.integer("keepdims", 1) != 0};
  if (is_empty) return op;
  for (const std::int64_t axis : *axes) {
    op.axes.push_back(static_cast<std::int64_t>(normal_axis(axis, context.rank(0))));
  }
  std::sort(op.axes.begin(), op.axes.end());
  return op;
}

DraftId reduced(OpContext& context, DraftId x, const std::optional<Reduce>& op) {
  return op ? context.add(*op, {x}) : x;
}

// The mean over all of space is what everybody calls global average pooling.
bool is_global_pooling(const Reduce& op, const Shape& x) {
  if (op.kind != ReduceKind::mean || !op.keep_axes || x.size() < 4 || x.size() > 5) return false;
  if (op.axes.size() != x.size() - 2) return false;
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    if (op.axes[i] != static_cast<std::int64_t>(i) + 2) return false;
  }
  return true;
}

template <ReduceKind kind>
void lower_reduce(OpContext& context) {
  const std::optional<Reduce> op = reduction(context, kind);
  const DraftId x = context.tensor(0);
  if (op && is_global_pooling(*op, context.shape(0))) {
    context.set(0, context.add(AdaptivePool{PoolKind::average, {}}, {x}));
    return;
  }
  context.set(0, reduced(context, x, op));
}

template <UnaryKind before>
void lower_sum_of(OpContext& context) {
  const std::optional<Reduce> op = reduction(context, ReduceKind::sum);
  const DraftId x = context.add(Unary{before}, {context.tensor(0)}, {}, "each");
  context.set(0, reduced(context, x, op));
}

DraftId logarithm_of_sum(OpContext& context, DraftId x) {
  const DraftId sum = reduced(context, x, reduction(context, ReduceKind::sum));
  return context.add(Unary{UnaryKind::logarithm}, {sum}, {}, "log");
}

void lower_log_sum(OpContext& context) {
  context.set(0, logarithm_of_sum(context, context.tensor(0)));
}

void lower_log_sum_exp(OpContext& context) {
  const DraftId exponential =
      context.add(Unary{UnaryKind::exponential}, {context.tensor(0)}, {}, "exp");
  context.set(0, logarithm_of_sum(context, exponential));
}

constexpr std::array reduction_rows = {
    OpRow{"ReduceL1", lower_sum_of<UnaryKind::absolute>},
    OpRow{"ReduceL2", lower_reduce<ReduceKind::l2>},
    OpRow{"ReduceLogSum", lower_log_sum},
    OpRow{"ReduceLogSumExp", lower_log_sum_exp},
    OpRow{"ReduceMax", lower_reduce<ReduceKind::maximum>},
    OpRow{"ReduceMean", lower_reduce<ReduceKind::mean>},
    OpRow{"ReduceMin", lower_reduce<ReduceKind::minimum>},
    OpRow{"ReduceProd", lower_reduce<ReduceKind::product>},
    OpRow{"ReduceSum", lower_reduce<ReduceKind::sum>},
    OpRow{"ReduceSumSquare", lower_sum_of<UnaryKind::square>},
};

}  // namespace

std::span<const OpRow> reduction_ops() { return reduction_rows; }

}  // namespace strata::onnx
