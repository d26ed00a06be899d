// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/moving/turning.hpp"

/// Turning for processors whose stores go through the caches. They write without fetching first
/// what they write line by line, until a store meets a line that is in a cache.
namespace strata::cpu_training {

/// For neighbours that lie side by side in `to`.
void turn_by_lines(const Workers& workers, const Turning<std::uint32_t>& turning);

}  // namespace strata::cpu_training
