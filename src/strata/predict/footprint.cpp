// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/footprint.hpp"

#include "strata/base/checked.hpp"

#include <limits>
#include <vector>

namespace strata {
namespace {

constexpr StepId unused = std::numeric_limits<StepId>::max();

bool is_permanent(ValueKind kind) {
  return kind == ValueKind::weight || kind == ValueKind::constant || kind == ValueKind::state;
}

}  // namespace

std::vector<ValueLife> value_lives(const Program& program) {
  std::vector<StepId> first(program.values.size(), unused);
  std::vector<StepId> last(program.values.size(), 0);
  for (StepId step = 0; step < program.steps.size(); ++step) {
    for (const Use& use : program.uses_of(step)) {
      if (first[use.value] == unused) first[use.value] = step;
      last[use.value] = step;
    }
  }
  std::vector<ValueLife> lives(program.values.size());
  for (ValueId id = 0; id < program.values.size(); ++id) {
    const Value& value = program.values[id];
    if (is_permanent(value.kind)) {
      lives[id] = {0, program.steps.size()};
    } else if (first[id] != unused) {
      lives[id] = {value.is_given ? 0 : first[id],
                   value.is_result ? program.steps.size() : last[id] + std::size_t{1}};
    }
  }
  return lives;
}

Footprint footprint_of(const Program& program) {
  const std::vector<ValueLife> lives = value_lives(program);
  Footprint footprint;
  std::vector<std::int64_t> change(program.steps.size() + 1, 0);
  for (ValueId id = 0; id < program.values.size(); ++id) {
    const Value& value = program.values[id];
    if (is_permanent(value.kind)) {
      footprint.kept_bytes = checked_add(footprint.kept_bytes, value.bytes);
      continue;
    }
    change[lives[id].from] = checked_add(change[lives[id].from], value.bytes);
    change[lives[id].to] -= value.bytes;
  }
  footprint.peak_bytes = footprint.kept_bytes;
  std::int64_t now = footprint.kept_bytes;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    now = checked_add(now, change[step]);
    if (now <= footprint.peak_bytes) continue;
    footprint.peak_bytes = now;
    footprint.step = step;
  }
  return footprint;
}

}  // namespace strata
