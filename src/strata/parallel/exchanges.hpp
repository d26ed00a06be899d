// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/rank_costs.hpp"
#include "strata/parallel/strategy.hpp"

/// What layers exchange with other ranks while they compute.
namespace strata {

/// Of all keys and values of attention, `bytes` for the whole sequence, every rank has a share.
/// While attention works on one share for `busy_s / c`, the next one arrives; what takes longer is
/// waited for, c − 1 times. Backward sends the gradients of keys and values, too.
LinkUse ring_exchange(const Cluster& cluster, const Strategy& strategy, double bytes, double busy_s,
                      bool is_backward);

/// Of `bytes` of words that a rank has for the experts of all ranks, each gets what is for its own:
/// an all-to-all, for which everything waits.
LinkUse expert_exchange(const Cluster& cluster, const Strategy& strategy, double bytes);

}  // namespace strata
