// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

/// Files of strangers may ask for sequences and micro-batches that no memory holds. Steps are
/// counted before they are made.
namespace strata {

/// A step takes 1 to 2 kB while its plan is searched (predict/planning_memory.hpp), so that the
/// limit is 2 GB and a few seconds.
inline constexpr std::int64_t most_steps = 1'000'000;
/// Of values by steps; and of values.
inline constexpr std::int64_t most_uses = 6 * most_steps;

/// A lower bound of the steps of an iteration, without laying it out: those of all cells of
/// recurrent layers, and one for every other layer with arithmetic.
std::int64_t least_steps(const BoundGraph& bound, const TrainingOptions& options);

/// Errors (usage): an iteration of more than `most_steps`, with what to change.
void require_few_steps(std::int64_t steps);
/// The same for so many rounds (micro-batches) with so many steps each.
void require_few_steps(std::int64_t steps_of_round, std::int64_t rounds);

}  // namespace strata
