// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/rank_costs.hpp"
#include "strata/parallel/strategy.hpp"

#include <span>

/// What layers exchange with other ranks while they compute.
namespace strata {

/// Of all keys and values of attention, `bytes` for the whole sequence, every rank has a share.
/// While attention works on one share for `busy_s / c`, the next one arrives; what takes longer is
/// waited for, c − 1 times. Backward sends the gradients of keys and values, too.
LinkUse ring_exchange(const Cluster& cluster, const Strategy& strategy, double bytes, double busy_s,
                      bool is_backward);

/// Of tensors with `bytes` for the whole sequence each (queries, keys, values, the result), a rank
/// has some positions of all heads where attention wants all positions of some heads, or the other
/// way: an all-to-all of each, for which everything waits. Backward sends their gradients back.
LinkUse head_exchange(const Cluster& cluster, const Strategy& strategy,
                      std::span<const double> bytes);

/// Of `bytes` of words that a rank has for the experts of all ranks, each gets what is for its own:
/// an all-to-all, for which everything waits.
LinkUse expert_exchange(const Cluster& cluster, const Strategy& strategy, double bytes);

}  // namespace strata
