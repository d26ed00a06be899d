// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/access_list.hpp"

#include <algorithm>
#include <numeric>

namespace strata {

AccessList::AccessList(const Program& program_)
    : program(program_),
      first_of(program_.values.size(), no_use),
      step_of(program_.uses.size()),
      next(program_.uses.size(), no_use),
      previous(program_.uses.size(), no_use),
      needs(needs_of(program_)),
      facts(program_.uses.size()),
      by_value(program_.uses.size()) {
  std::vector<std::uint32_t> latest(program.values.size(), no_use);
  std::iota(by_value.begin(), by_value.end(), std::uint32_t{0});
  for (StepId step = 0; step < program.steps.size(); ++step) {
    const std::uint32_t first = first_use(step);
    const std::uint32_t end = first_use(step + 1);
    for (std::uint32_t use = first; use < end; ++use) {
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
    std::sort(by_value.begin() + first, by_value.begin() + end,
              [&](std::uint32_t a, std::uint32_t b) {
                return program.uses[a].value < program.uses[b].value;
              });
  }
  for (std::uint32_t u = 0; u < program.uses.size(); ++u) {
    const Use& use = program.uses[u];
    const bool is_reused = next[u] != no_use && program.uses[next[u]].reads;
    facts[u] = {.value = use.value,
                .before = previous[u],
                .next_step = next[u] == no_use ? never : step_of[next[u]],
                .reads = use.reads,
                .writes = use.writes,
                .is_live = next[u] == no_use ? program.values[use.value].is_result : is_reused,
                .is_reused = is_reused,
                .must_be_whole = strata::must_be_whole(program, step_of[u], use),
                .bytes = program.values[use.value].bytes,
                .least_bytes = strata::least_bytes(program, step_of[u], use)};
  }
}

}  // namespace strata
