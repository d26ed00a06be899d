// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/formula_worker.hpp"

#include "strata/sweep/formula_tokens.hpp"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

class ConstrainedWorker : public PointWorker {
 public:
  ConstrainedWorker(std::unique_ptr<PointWorker> worker,
                    std::unique_ptr<const SweepColumns> columns,
                    std::span<const std::string> constraints)
      : worker_(std::move(worker)),
        columns_(std::move(columns)),
        constraints_(constraints, *columns_) {}

  PointResult at(std::int64_t point) override {
    PointResult result;
    if (constraints_.excludes(point)) {
      result.is_left_out = true;
      return result;
    }
    result = worker_->at(point);
    result.is_left_out = constraints_.excludes(point, result);
    return result;
  }

 private:
  std::unique_ptr<PointWorker> worker_;
  std::unique_ptr<const SweepColumns> columns_;
  PointConstraints constraints_;
};

}  // namespace

PointConstraints::PointConstraints(std::span<const std::string> constraints,
                                   const SweepColumns& columns)
    : columns_(columns) {
  const std::vector<ColumnHead>& heads = columns.heads();
  const std::vector<FormulaColumn> names = formula_columns(heads);
  for (const std::string& constraint : constraints) {
    const Formula whole(constraint, names, "--where");  // so that errors quote what was typed
    for (const Demand& demand : demands_of(constraint)) {
      Formula formula(demand.text, names, "--where");
      const bool is_known = std::all_of(formula.columns().begin(), formula.columns().end(),
                                        [&](std::size_t column) { return heads[column].is_known; });
      (is_known ? early_ : late_).push_back(std::move(formula));
    }
  }
}

bool PointConstraints::all_hold(std::vector<Formula>& formulas,
                                const std::vector<SweepCell>& cells) {
  return std::all_of(formulas.begin(), formulas.end(),
                     [&](Formula& formula) { return formula.holds(CellRow(cells)); });
}

bool PointConstraints::excludes(std::int64_t point) {
  if (early_.empty()) return false;
  columns_.fill_known(cells_, point);
  return !all_hold(early_, cells_);
}

bool PointConstraints::excludes(std::int64_t point, const PointResult& result) {
  if (late_.empty()) return false;
  columns_.fill(cells_, point, result);
  return !all_hold(late_, cells_);
}

std::unique_ptr<PointWorker> constrained_worker(std::unique_ptr<PointWorker> worker,
                                                std::unique_ptr<const SweepColumns> columns,
                                                std::span<const std::string> constraints) {
  return std::make_unique<ConstrainedWorker>(std::move(worker), std::move(columns), constraints);
}

}  // namespace strata
