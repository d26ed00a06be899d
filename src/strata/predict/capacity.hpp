// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/predict.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

/// What a step needs on chip.
namespace strata {

/// Whether the step needs all of a value for every output it makes: the weights of sums of
/// products, and their gradients.
bool must_be_whole(const Program& program, StepId step, const Use& use);

/// The least that a use may hold while its step runs: a row, or all of it where every output needs
/// it.
std::int64_t least_bytes(const Program& program, StepId step, const Use& use);

/// How the values of a step fit into a capacity.
enum class Fit : std::uint8_t {
  whole,   ///< all its values at once: all are resident
  rows,    ///< its least: what is not resident is streamed
  slices,  ///< not even that: weights are cut, and rows that take more than half of the capacity;
           ///< all is streamed, and what is read is read once per slice
};

struct StepNeed {
  std::int64_t all_bytes = 0;    ///< all its values
  std::int64_t least_bytes = 0;  ///< one row of each, weights whole where they must be
  std::int64_t rows_bytes = 0;   ///< one row of each, weights too
};

StepNeed need_of(const Program& program, StepId step);
std::vector<StepNeed> needs_of(const Program& program);

inline Fit fit_of(const StepNeed& need, std::int64_t capacity_bytes) {
  if (need.all_bytes <= capacity_bytes) return Fit::whole;
  return need.least_bytes <= capacity_bytes ? Fit::rows : Fit::slices;
}
/// The same under a plan, which may tolerate a least slightly beyond its capacity.
inline Fit fit_of(const StepNeed& need, const Plan& plan) {
  const Fit fit = fit_of(need, plan.capacity_bytes);
  return fit == Fit::slices && need.least_bytes <= plan.tolerated_bytes ? Fit::rows : fit;
}

/// The least that a step may need beyond the capacity, and yet run alone on chip; 0: none may.
std::int64_t tolerated_bytes(std::int64_t capacity_bytes, const PredictOptions& options);

/// A step whose least does not fit: its weights in the fewest slices that do. Where rows of its
/// other values take more than half of the capacity, they are cut as well: they pass through one
/// half, slices have the other, and the step has the chip to itself.
struct Slicing {
  std::int64_t slices = 1;
  std::int64_t held_bytes = 0;
  std::int64_t refetch_bytes =
      0;  ///< what it reads besides the weight, once more per further slice
  bool cuts_rows = false;
};
Slicing slicing_of(const Program& program, StepId step, std::int64_t capacity_bytes);

/// Slices may take so many bytes beside rows of `rows_bytes`; at least one, as sizes are divided by
/// it.
inline std::int64_t room_for_slices(std::int64_t rows_bytes, std::int64_t capacity_bytes) {
  return std::max<std::int64_t>(
      {capacity_bytes - rows_bytes, capacity_bytes - capacity_bytes / 2, 1});
}

/// The step that needs the most, and its least: below it weights are sliced.
struct MinimumCapacity {
  std::int64_t bytes = 0;
  StepId step = 0;
};
MinimumCapacity minimum_capacity(const Program& program);

}  // namespace strata
