// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/columns.hpp"
#include "strata/sweep/run_points.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

/// Points that constraints leave out. What can be decided from the axes alone is decided before a
/// point is computed, so that what is left out costs nothing.
namespace strata {

class PointConstraints {
 public:
  /// All of them must hold. Errors (usage) name --where.
  PointConstraints(std::span<const std::string> constraints, const SweepColumns& columns);

  /// Whether what is known before it is computed excludes the point already.
  bool excludes(std::int64_t point);
  /// Whether its results do.
  bool excludes(std::int64_t point, const PointResult& result);

 private:
  static bool all_hold(std::vector<Formula>& formulas, const std::vector<SweepCell>& cells);

  const SweepColumns& columns_;
  std::vector<Formula> early_;  // need only what is known
  std::vector<Formula> late_;
  std::vector<SweepCell> cells_;
};

/// A worker that marks points which the constraints leave out, and does not compute those that can
/// be told before. `columns` are its own: formulas serve one thread.
std::unique_ptr<PointWorker> constrained_worker(std::unique_ptr<PointWorker> worker,
                                                std::unique_ptr<const SweepColumns> columns,
                                                std::span<const std::string> constraints);

}  // namespace strata
