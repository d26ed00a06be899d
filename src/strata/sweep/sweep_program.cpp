// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/sweep_program.hpp"

#include "strata/predict/best.hpp"
#include "strata/sweep/farthest_sweep.hpp"
#include "strata/training/split.hpp"

#include <optional>
#include <utility>

namespace strata {

struct SweepProgram::State {
  State(const Program& program, const PredictOptions& how, std::shared_ptr<SharedSearch> shared)
      : parts(how.granularity_bytes > 0 ? split_values(program, how.granularity_bytes) : Program{}),
        list(how.granularity_bytes > 0 ? parts : program),
        widest(widest_step(list)),
        options(effective_options(how)),
        search(std::move(shared)) {
    if (options.policy == Policy::thesis || options.policy == Policy::belady)
      farthest.emplace(list, options);
  }

  // When rates alternate, the planner keeps the state of the search at each set of rates.
  PointTotals best_at(const Hardware& hardware) {
    if (!best) {
      best.emplace(list, hardware, options, search);
    } else if (rates_of(best_rates) != rates_of(hardware)) {
      best->set_rates(hardware);
    }
    best_rates = hardware;
    return totals_of(best->totals_at(hardware.capacity_bytes));
  }

  Program parts;  // of the program, when its values are cut
  AccessList list;
  StepId widest;
  PredictOptions options;
  std::optional<FarthestSweep> farthest;
  std::shared_ptr<SharedSearch> search;
  std::optional<BestPlanner> best;
  Hardware best_rates;
};

SweepProgram::SweepProgram(const Program& program, const PredictOptions& options,
                           std::shared_ptr<SharedSearch> search)
    : state_(std::make_unique<State>(program, options, std::move(search))) {}

SweepProgram::~SweepProgram() = default;
SweepProgram::SweepProgram(SweepProgram&&) noexcept = default;
SweepProgram& SweepProgram::operator=(SweepProgram&&) noexcept = default;

PointTotals SweepProgram::at(const Hardware& hardware) {
  check(hardware);
  check_rows(state_->list, state_->widest, hardware, state_->options);
  if (state_->farthest) return state_->farthest->at(hardware);
  if (state_->options.policy == Policy::best) return state_->best_at(hardware);
  return totals_of(predict(state_->list, hardware, state_->options, Record::totals));
}

}  // namespace strata
