// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/predict.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

/// The planner of docs/prediction.md a second time: written from the page alone, slow, and so plain
/// that it can be checked by reading. It shares types with predict/ and not one function.
namespace strata::reference {

/// The program and, of every use, its step, the next use of the same value and the one before.
struct Uses {
  explicit Uses(const Program& all) : program(all), of_step(all.steps.size()) {
    for (StepId step = 0; step < all.steps.size(); ++step) {
      for (std::size_t i = 0; i < all.uses_of(step).size(); ++i) {
        of_step[step].push_back(step_of.size());
        step_of.push_back(step);
      }
      std::sort(of_step[step].begin(), of_step[step].end(),
                [&](std::size_t a, std::size_t b) { return at(a).value < at(b).value; });
    }
    std::map<ValueId, std::size_t> last;
    next.resize(step_of.size());
    previous.resize(step_of.size());
    for (std::size_t use = 0; use < step_of.size(); ++use) {
      if (const auto before = last.find(at(use).value); before != last.end()) {
        previous[use] = before->second;
        next[before->second] = use;
      }
      last[at(use).value] = use;
    }
  }

  const Program& program;
  std::vector<std::vector<std::size_t>> of_step;  ///< by id
  std::vector<StepId> step_of;
  std::vector<std::optional<std::size_t>> next, previous;

  const Use& at(std::size_t use) const { return program.uses[use]; }
  const Value& value_of(std::size_t use) const { return program.values[at(use).value]; }
  std::int64_t bytes(std::size_t use) const { return value_of(use).bytes; }
  StepId next_step(std::size_t use) const { return next[use] ? step_of[*next[use]] : never; }

  bool is_read_again(std::size_t use) const { return next[use] && at(*next[use]).reads; }
  bool is_live(std::size_t use) const {
    return next[use] ? at(*next[use]).reads : value_of(use).is_result;
  }

  /// "weights and weight gradients in dense steps"
  bool is_weight(std::size_t use) const {
    const ValueKind kind = value_of(use).kind;
    return program.steps[step_of[use]].layer_class == LayerClass::dense &&
           (kind == ValueKind::weight || kind == ValueKind::weight_gradient);
  }
  std::int64_t least(std::size_t use) const {
    return is_weight(use) ? bytes(use) : value_of(use).row_bytes;
  }
};

/// "What a step holds": the three cases of the page.
struct Holding {
  int fits = 1;                    ///< the number of the case
  std::int64_t least_bytes = 0;    ///< what it holds at least, whatever the plan chooses
  std::int64_t refetch_bytes = 0;  ///< in case 3
  bool is_below_rows = false;      ///< one row of each value is more than the capacity
};

inline Holding holding_of(const Uses& uses, StepId step, std::int64_t capacity_bytes) {
  std::int64_t all = 0, least = 0, rows = 0, weights = 0, other_rows = 0, other_reads = 0;
  for (const std::size_t use : uses.of_step[step]) {
    all += uses.bytes(use);
    least += uses.least(use);
    rows += uses.value_of(use).row_bytes;
    if (uses.is_weight(use)) {
      weights += uses.bytes(use);
    } else {
      other_rows += uses.value_of(use).row_bytes;
      if (uses.at(use).reads) other_reads += uses.bytes(use);
    }
  }
  if (all <= capacity_bytes) return {1, all, 0};
  if (least <= capacity_bytes) return {2, least, 0};
  // "Rows that take more than half of the capacity are cut as well"
  const std::int64_t half = capacity_bytes / 2;
  const bool cuts_rows = other_rows > half;
  const std::int64_t room = capacity_bytes - (cuts_rows ? half : other_rows);
  std::int64_t slices = 1;
  const auto slice = [&] { return (weights + slices - 1) / slices; };
  while (slice() > room) ++slices;
  return {3, cuts_rows ? capacity_bytes : other_rows + slice(), (slices - 1) * other_reads,
          rows > capacity_bytes};
}

/// "A capacity below one row of each value is refused", unless the chip is a cache; and case 3 is,
/// by a strict minimum.
struct Refuses {
  bool slices = false, rows = true;

  bool operator()(const Holding& holding) const {
    return (rows && holding.is_below_rows) || (slices && holding.fits == 3);
  }
};

/// "The capacity is used to seven binary digits": the largest of the capacities that the page names
/// that is not above. A capacity that is refused, unless by a cache, stays as it is.
inline std::int64_t used_capacity(const Program& program, std::int64_t capacity_bytes,
                                  bool strict_minimum) {
  const Uses uses(program);
  const Refuses refuses{.slices = strict_minimum};
  const auto is_refused = [&](std::int64_t bytes) {
    for (StepId step = 0; step < program.steps.size(); ++step) {
      if (refuses(holding_of(uses, step, bytes))) return true;
    }
    return false;
  };
  if (is_refused(capacity_bytes)) return capacity_bytes;
  std::int64_t values = 0, most_least = 0, most_all = 0;
  for (const Value& value : program.values) values += value.bytes;
  for (const std::vector<std::size_t>& of_step : uses.of_step) {
    std::int64_t least = 0, all = 0;
    for (const std::size_t use : of_step) {
      least += uses.least(use);
      all += uses.bytes(use);
    }
    most_least = std::max(most_least, least);
    most_all = std::max(most_all, all);
  }
  if (capacity_bytes >= values) return std::max<std::int64_t>(values, 1);
  std::int64_t unit = 1;
  while (capacity_bytes / unit > 127) unit *= 2;
  std::int64_t used = capacity_bytes / unit * unit;
  for (const std::int64_t needed : {most_least, most_all}) {
    if (needed <= capacity_bytes) used = std::max(used, needed);
  }
  while (is_refused(used)) ++used;  // up to "the lowest that is not refused"
  return used;
}

/// "Farthest next use". Nothing: the capacity is refused.
class FarthestNextUse {
 public:
  FarthestNextUse(const Program& program, std::int64_t capacity_bytes)
      : uses_(program), capacity_bytes_(capacity_bytes) {}

  std::optional<Plan> plan(const Refuses& refuses) {
    const std::size_t steps = uses_.program.steps.size();
    plan_.capacity_bytes = capacity_bytes_;
    plan_.uses.resize(uses_.program.uses.size());
    plan_.refetch_bytes.resize(steps);
    for (StepId step = 0; step < steps; ++step) {
      const Holding holding = holding_of(uses_, step, capacity_bytes_);
      if (refuses(holding)) return std::nullopt;
      plan_.refetch_bytes[step] = holding.refetch_bytes;
    }
    for (StepId step = 0; step < steps; ++step) {
      plan_step(step, holding_of(uses_, step, capacity_bytes_));
    }
    stream_what_gained_nothing();
    return plan_;
  }

 private:
  void plan_step(StepId step, const Holding& holding) {
    std::int64_t needed_bytes = holding.least_bytes;
    if (holding.fits == 2) needed_bytes += choose_residents(step, holding.least_bytes);
    make_room(step, needed_bytes);
    for (const std::size_t use : uses_.of_step[step]) {
      if (holding.fits == 3) plan_.uses[use].residency = Residency::streamed;
      const bool is_resident = plan_.uses[use].residency == Residency::resident;
      const ValueId value = uses_.at(use).value;
      if (!is_resident && on_chip_.contains(value)) leave(value, step);
      on_chip_.erase(value);
      if (is_resident && uses_.is_read_again(use)) {
        on_chip_[value] = use;
        plan_.uses[use].stays = true;
      }
    }
  }

  std::int64_t passing_bytes(StepId step) const {
    std::int64_t bytes = 0;
    for (const auto& [value, use] : on_chip_) {
      if (!is_used_by(step, value)) bytes += uses_.bytes(use);
    }
    return bytes;
  }

  bool is_used_by(StepId step, ValueId value) const {
    for (const Use& use : uses_.program.uses_of(step)) {
      if (use.value == value) return true;
    }
    return false;
  }

  /// "of the values on chip that it does not use, the one whose next use is farthest leaves (of
  /// equals the lowest id), until there is room"
  void make_room(StepId step, std::int64_t needed_bytes) {
    while (needed_bytes + passing_bytes(step) > capacity_bytes_) {
      std::optional<ValueId> farthest;
      for (const auto& [value, use] : on_chip_) {  // in the order of ids
        if (is_used_by(step, value)) continue;
        if (!farthest || uses_.next_step(use) > uses_.next_step(on_chip_.at(*farthest))) {
          farthest = value;
        }
      }
      leave(*farthest, step);
    }
  }

  void leave(ValueId value, StepId step) {
    UsePlan& last = plan_.uses[on_chip_.at(value)];
    last.stays = false;
    last.leaves_at = step;
    on_chip_.erase(value);
  }

  /// "values on chip already, then values that are read again; in both groups the soonest next use
  /// first, then the lowest id". What passes by makes room for them. The bytes they take.
  std::int64_t choose_residents(StepId step, std::int64_t least_bytes) {
    const std::int64_t room = capacity_bytes_ - least_bytes;
    std::int64_t taken = 0;
    std::vector<std::size_t> candidates = uses_.of_step[step];
    const auto group = [&](std::size_t use) {
      if (on_chip_.contains(uses_.at(use).value)) return 0;
      return uses_.is_read_again(use) ? 1 : 2;
    };
    std::sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
      if (group(a) != group(b)) return group(a) < group(b);
      if (uses_.next_step(a) != uses_.next_step(b)) return uses_.next_step(a) < uses_.next_step(b);
      return uses_.at(a).value < uses_.at(b).value;
    });
    for (const std::size_t use : candidates) {
      const std::int64_t more = uses_.bytes(use) - uses_.least(use);
      const bool is_chosen = uses_.is_weight(use) || (group(use) < 2 && taken + more <= room);
      plan_.uses[use].residency = is_chosen ? Residency::resident : Residency::streamed;
      if (is_chosen) taken += more;
    }
    return taken;
  }

  /// "Afterwards a value chosen in case 2 that neither stayed until this use nor stays after it is
  /// streamed"
  void stream_what_gained_nothing() {
    for (std::size_t use = 0; use < plan_.uses.size(); ++use) {
      if (holding_of(uses_, uses_.step_of[use], capacity_bytes_).fits != 2) continue;
      const auto before = uses_.previous[use];
      const bool stayed = before && plan_.uses[*before].stays;
      if (stayed || plan_.uses[use].stays || uses_.is_weight(use)) continue;
      plan_.uses[use].residency = Residency::streamed;
    }
  }

  Uses uses_;
  std::int64_t capacity_bytes_;
  Plan plan_;
  std::map<ValueId, std::size_t> on_chip_;  ///< what stays for the time being, and its last use
};

inline std::optional<Plan> farthest_next_use(const Program& program, std::int64_t capacity_bytes,
                                             const Refuses& refuses = {}) {
  return FarthestNextUse(program, capacity_bytes).plan(refuses);
}

}  // namespace strata::reference
