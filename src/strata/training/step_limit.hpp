// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

/// Files of strangers may ask for sequences and micro-batches that no memory holds. Steps are
/// counted before they are laid out.
namespace strata {

inline constexpr std::int64_t most_steps = 20'000'000;
inline constexpr std::int64_t most_uses = 10 * most_steps;

/// A lower bound of the steps of an iteration, without laying it out: those of all cells of
/// recurrent layers, and one for every other layer with arithmetic.
std::int64_t least_steps(const BoundGraph& bound, const TrainingOptions& options);

/// Errors (usage): an iteration of more than `most_steps`, with what to change.
void require_few_steps(std::int64_t steps);

}  // namespace strata
