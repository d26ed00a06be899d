// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/ops.hpp"
#include "strata/importers/onnx/ops/window.hpp"

#include <array>

namespace strata::onnx {
namespace {

template <PoolKind kind>
void lower_pool(OpContext& context) {
  const Shape x = context.shape(0);
  if (x.size() < 3) fail(ErrorKind::input, "a pooling of {} axes", x.size());
  Window window = window_of(context, x.size() - 2, {});
  set_padding(context, x, window);
  const Pool op{.kind = kind,
                .kernel = window.kernel,
                .stride = window.stride,
                .dilation = window.dilation,
                .pad_begin = window.pad_begin,
                .pad_end = window.pad_end,
                .ceil_mode = context.integer("ceil_mode", 0) != 0,
                .count_include_pad = context.integer("count_include_pad", 0) != 0};
  context.set(0, context.add(op, {context.tensor(0)}));
}

// Strata's global pooling wants 1 to 3 spatial axes; others are reductions.
template <PoolKind kind>
void lower_global_pool(OpContext& context) {
  const std::size_t rank = context.rank(0);
  const DraftId x = context.tensor(0);
  if (rank >= 3 && rank <= 5) {
    context.set(0, context.add(AdaptivePool{kind, {}}, {x}));
    return;
  }
  Reduce op{kind == PoolKind::maximum ? ReduceKind::maximum : ReduceKind::mean, {}, true};
  for (std::size_t axis = 2; axis < rank; ++axis) {
    op.axes.push_back(static_cast<std::int64_t>(axis));
  }
  if (op.axes.empty()) return context.pass_on(0, 0);
  context.set(0, context.add(op, {x}));
}

constexpr std::array pool_rows = {
    OpRow{"AveragePool", lower_pool<PoolKind::average>},
    OpRow{"MaxPool", lower_pool<PoolKind::maximum>},
    OpRow{"LpPool", lower_pool<PoolKind::average>},
    OpRow{"QLinearAveragePool", lower_pool<PoolKind::average>},
    OpRow{"GlobalAveragePool", lower_global_pool<PoolKind::average>},
    OpRow{"GlobalLpPool", lower_global_pool<PoolKind::average>},
    OpRow{"GlobalMaxPool", lower_global_pool<PoolKind::maximum>},
    OpRow{"QLinearGlobalAveragePool", lower_global_pool<PoolKind::average>},
};

}  // namespace

std::span<const OpRow> pool_ops() { return pool_rows; }

}  // namespace strata::onnx
