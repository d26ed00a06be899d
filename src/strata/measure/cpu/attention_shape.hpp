// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/node_context.hpp"

#include <algorithm>
#include <cmath>

namespace strata::cpu_training {

/// The sizes of an attention node. Several query heads may share one head of keys and values.
struct AttentionShape {
  std::int64_t batch = 0, queries = 0, keys = 0, heads = 0, kv_heads = 0;
  std::int64_t width = 0, value_width = 0;  ///< of one head
  bool is_causal = false, has_mask = false;

  AttentionShape(const Attention& op, const NodeContext& context)
      : batch(context.input(0)[0]),
        queries(context.input(0)[1]),
        keys(context.input(1)[1]),
        heads(op.heads),
        kv_heads(op.kv_heads == 0 ? op.heads : op.kv_heads),
        width(context.input(0)[2] / heads),
        value_width(context.input(2)[2] / kv_heads),
        is_causal(op.causal),
        has_mask(context.input_count() == 4) {}

  std::int64_t heads_per_kv() const { return heads / kv_heads; }
  std::int64_t score_rows() const { return batch * heads * queries; }
  std::int64_t scores() const { return score_rows() * keys; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(width)); }
  /// How many keys a query sees.
  std::int64_t visible(std::int64_t query) const {
    if (!is_causal) return keys;
    return std::clamp<std::int64_t>(query + keys - queries + 1, 0, keys);
  }
};

}  // namespace strata::cpu_training
