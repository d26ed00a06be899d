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

Footprint footprint_of(const Program& program) {
  std::vector<StepId> first(program.values.size(), unused);
  std::vector<StepId> last(program.values.size(), 0);
  for (StepId step = 0; step < program.steps.size(); ++step) {
    for (const Use& use : program.uses_of(step)) {
      if (first[use.value] == unused) first[use.value] = step;
      last[use.value] = step;
    }
  }
  Footprint footprint;
  std::vector<std::int64_t> change(program.steps.size() + 1, 0);
  for (ValueId id = 0; id < program.values.size(); ++id) {
    const Value& value = program.values[id];
    if (is_permanent(value.kind)) {
      footprint.kept_bytes = checked_add(footprint.kept_bytes, value.bytes);
      continue;
    }
    if (first[id] == unused) continue;
    const StepId from = value.is_given ? 0 : first[id];
    const std::size_t to = value.is_result ? program.steps.size() : last[id] + 1;
    change[from] = checked_add(change[from], value.bytes);
    change[to] -= value.bytes;
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
