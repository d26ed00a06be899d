// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/attention_shape.hpp"

namespace strata::cpu_training::plain {

/// scores[N, heads, queries, keys] = −∞ for the keys that a query does not see.
void hide_later_keys(const AttentionShape& shape, float* scores);

}  // namespace strata::cpu_training::plain
