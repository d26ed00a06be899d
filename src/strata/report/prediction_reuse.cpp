// SPDX-License-Identifier: Apache-2.0
#include "strata/report/prediction_reuse.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/predict/capacity.hpp"
#include "strata/training/reuse.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace strata {
namespace {

/// What an interval needs by itself, and how much it would save.
struct Need {
  std::int64_t capacity_bytes = 0;
  std::int64_t bytes = 0;
};

/// The capacity at which needs up to it hold a share of all bytes.
std::int64_t capacity_for(const std::vector<Need>& sorted, double share) {
  double total = 0;
  for (const Need& need : sorted) total += static_cast<double>(need.bytes);
  double reached = 0;
  for (const Need& need : sorted) {
    reached += static_cast<double>(need.bytes);
    if (reached >= share * total) return need.capacity_bytes;
  }
  return sorted.empty() ? 0 : sorted.back().capacity_bytes;
}

class ScopeNeeds {
 public:
  explicit ScopeNeeds(const Program& program)
      : program_(program),
        needs_(needs_of(program)),
        intervals_(reuse_intervals(program)),
        layers_(layer_reuse(program, intervals_)) {}

  std::vector<ScopeReuse> captured_by(const Plan& plan) const {
    STRATA_CHECK(plan.uses.size() == program_.uses.size(), "a plan says something of every use");
    std::array<ScopeReuse, reuse_scopes> scopes;
    std::array<std::vector<Need>, reuse_scopes> needs;
    for (const ReuseInterval& interval : intervals_) {
      const auto at = static_cast<std::size_t>(interval.scope);
      const std::int64_t bytes = program_.values[program_.uses[interval.use].value].bytes;
      scopes[at].offered_bytes = checked_add(scopes[at].offered_bytes, bytes);
      if (plan.uses[interval.use].stays) scopes[at].captured_bytes += bytes;
      needs[at].push_back({need_of_interval(interval), bytes});
    }
    std::vector<ScopeReuse> result;
    for (std::size_t at = 0; at < reuse_scopes; ++at) {
      scopes[at].scope = name_of(static_cast<ReuseScope>(at));
      add_capacities(scopes[at], static_cast<ReuseScope>(at), std::move(needs[at]));
      result.push_back(std::move(scopes[at]));
    }
    return result;
  }

  std::array<std::int64_t, reuse_scopes> fitting(std::int64_t capacity_bytes) const {
    std::array<std::int64_t, reuse_scopes> bytes{};
    for (const ReuseInterval& interval : intervals_) {
      if (need_of_interval(interval) > capacity_bytes) continue;
      std::int64_t& sum = bytes[static_cast<std::size_t>(interval.scope)];
      sum = checked_add(sum, program_.values[program_.uses[interval.use].value].bytes);
    }
    return bytes;
  }

 private:
  // The formulas of the method, section "Reuse": what the two layers need at the same time.
  std::int64_t need_of_interval(const ReuseInterval& interval) const {
    std::int64_t most = 0;
    for (const StepId id : {interval.step, interval.next_step}) {
      const Step& step = program_.steps[id];
      most = std::max(most, needs_[id].all_bytes);
      if (step.node == no_node || step.node >= layers_.size()) continue;
      const LayerReuse& layer = layers_[step.node];
      const PassReuse& pass = step.pass == Pass::forward ? layer.forward : layer.backward;
      if (interval.scope == ReuseScope::block) most = std::max(most, pass.block_bytes);
      if (interval.scope == ReuseScope::recurrent) most = std::max(most, layer.recurrent_bytes);
    }
    return most;
  }

  void add_capacities(ScopeReuse& scope, ReuseScope kind, std::vector<Need> needs) const {
    if (kind == ReuseScope::forward_backward) {  // all of it is there at once when backward begins
      double all = 0;
      for (const LayerReuse& layer : layers_)
        all += static_cast<double>(layer.forward_backward_bytes);
      scope.capacity_50_bytes = static_cast<std::int64_t>(0.5 * all);
      scope.capacity_90_bytes = static_cast<std::int64_t>(0.9 * all);
      scope.capacity_100_bytes = static_cast<std::int64_t>(all);
      return;
    }
    std::sort(needs.begin(), needs.end(),
              [](const Need& a, const Need& b) { return a.capacity_bytes < b.capacity_bytes; });
    scope.capacity_50_bytes = capacity_for(needs, 0.5);
    scope.capacity_90_bytes = capacity_for(needs, 0.9);
    scope.capacity_100_bytes = needs.empty() ? 0 : needs.back().capacity_bytes;
  }

  const Program& program_;
  std::vector<StepNeed> needs_;  // a step that gathers a sequence is the end of many intervals
  std::vector<ReuseInterval> intervals_;
  std::vector<LayerReuse> layers_;
};

}  // namespace

std::vector<ScopeReuse> reuse_by_scope(const Program& program, const Plan& plan) {
  return ScopeNeeds(program).captured_by(plan);
}

std::array<std::int64_t, reuse_scopes> reuse_that_fits(const Program& program,
                                                       std::int64_t capacity_bytes) {
  return ScopeNeeds(program).fitting(capacity_bytes);
}

}  // namespace strata
