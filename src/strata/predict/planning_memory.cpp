// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/planning_memory.hpp"

#include <algorithm>

namespace strata {

std::size_t planned_length(const Program& program) {
  constexpr std::size_t uses_of_step = 4;  // of most networks 3 to 4
  return std::max(program.steps.size(), program.uses.size() / uses_of_step);
}

std::int64_t planning_bytes(const Program& program) {
  // They hold the program, its list of accesses, two planners, a schedule and the results of all
  // steps. Counted, and fitted to predictions of recurrent networks, transformers and networks in
  // parts.
  constexpr std::int64_t of_step = 700, of_use = 180, of_value = 120;
  return of_step * static_cast<std::int64_t>(program.steps.size()) +
         of_use * static_cast<std::int64_t>(program.uses.size()) +
         of_value * static_cast<std::int64_t>(program.values.size());
}

}  // namespace strata
