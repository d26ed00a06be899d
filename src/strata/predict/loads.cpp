// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/loads.hpp"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

// From which step on each load may be issued. `listing` is the thesis's: the latest step from which
// the compute time up to the load's own step covers it.
class Eligibility {
 public:
  Eligibility(const std::vector<double>& compute_s, double bytes_per_s, Prefetch prefetch)
      : bytes_per_s_(bytes_per_s), prefetch_(prefetch) {
    if (prefetch != Prefetch::listing) return;
    elapsed_s_.reserve(compute_s.size());
    double elapsed = 0;
    for (const double step_s : compute_s) {
      elapsed_s_.push_back(elapsed);
      elapsed += step_s;
    }
  }

  StepId of(StepId step, std::int64_t bytes) const {
    switch (prefetch_) {
      case Prefetch::none: return step;
      case Prefetch::next_layer: return step == 0 ? 0 : step - 1;
      case Prefetch::soonest: return 0;
      case Prefetch::listing: break;
    }
    const double latest = elapsed_s_[step] - static_cast<double>(bytes) / bytes_per_s_;
    const auto after = std::upper_bound(elapsed_s_.begin(), elapsed_s_.begin() + step, latest);
    return after == elapsed_s_.begin() ? 0 : static_cast<StepId>(after - elapsed_s_.begin()) - 1;
  }

 private:
  double bytes_per_s_ = 0;
  Prefetch prefetch_;
  std::vector<double> elapsed_s_;  // compute time before each step
};

}  // namespace

Loads::Loads(const AccessList& list, const Plan& plan, const std::vector<double>& compute_s,
             double bytes_per_s, const PredictOptions& options) {
  const Program& program = list.program;
  const Eligibility eligibility(compute_s, bytes_per_s, options.prefetch);
  first_.reserve(program.steps.size() + 1);
  std::vector<std::uint32_t> count(program.steps.size() + 1, 0);  // by the step of eligibility
  for (StepId step = 0; step < program.steps.size(); ++step) {
    first_.push_back(static_cast<std::uint32_t>(loads_.size()));
    const std::uint32_t first = program.steps[step].first_use;
    const auto end = first + static_cast<std::uint32_t>(program.uses_of(step).size());
    for (std::uint32_t u = first; u < end; ++u) {
      if (plan.uses[u].place == Place::streamed || !program.uses[u].reads) continue;
      const std::uint32_t before = list.previous[u];
      StepId has_left = 0;  // from this step on it is off chip
      if (before != no_use) {
        if (plan.uses[before].stays) continue;
        const bool lingers =
            options.offload == Offload::on_demand && plan.uses[before].place == Place::resident;
        has_left = lingers ? plan.uses[before].leaves_at : list.step_of[before] + 1;
      }
      const std::int64_t bytes = list.bytes_of(u);
      const StepId eligible_at = std::max(has_left, eligibility.of(step, bytes));
      ++count[eligible_at];
      loads_.push_back({.use = u, .step = step, .bytes = bytes, .eligible_at = eligible_at});
    }
    std::sort(loads_.begin() + first_.back(), loads_.end(), [&](const Load& a, const Load& b) {
      return program.uses[a.use].value < program.uses[b.use].value;
    });
  }
  first_.push_back(static_cast<std::uint32_t>(loads_.size()));

  std::uint32_t sum = 0;
  for (std::uint32_t& entry : count) sum += std::exchange(entry, sum);
  waiting_.resize(loads_.size());
  for (std::uint32_t i = 0; i < loads_.size(); ++i) waiting_[count[loads_[i].eligible_at]++] = i;
  eligible_.assign(loads_.size() / 64 + 1, 0);
}

}  // namespace strata
