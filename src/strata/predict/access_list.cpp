// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/access_list.hpp"

namespace strata {

AccessList::AccessList(const Program& program_)
    : program(program_),
      first_of(program_.values.size(), no_use),
      step_of(program_.uses.size()),
      next(program_.uses.size(), no_use),
      previous(program_.uses.size(), no_use),
      needs(needs_of(program_)),
      is_live(program_.uses.size()) {
  std::vector<std::uint32_t> latest(program.values.size(), no_use);
  for (StepId step = 0; step < program.steps.size(); ++step) {
    const std::uint32_t first = program.steps[step].first_use;
    const auto count = static_cast<std::uint32_t>(program.uses_of(step).size());
    for (std::uint32_t use = first; use < first + count; ++use) {
      std::uint32_t& last = latest[program.uses[use].value];
      step_of[use] = step;
      previous[use] = last;
      if (last == no_use) {
        first_of[program.uses[use].value] = use;
      } else {
        next[last] = use;
      }
      last = use;
    }
  }
  for (std::size_t use = 0; use < program.uses.size(); ++use) {
    is_live[use] = next[use] == no_use ? program.values[program.uses[use].value].is_result
                                       : program.uses[next[use]].reads;
  }
}

}  // namespace strata
