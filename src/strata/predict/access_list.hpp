// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/capacity.hpp"

#include <cstdint>
#include <vector>

namespace strata {

/// Stands for "none" among indices into Program::uses.
inline constexpr std::uint32_t no_use = ~std::uint32_t{0};

/// When every value is used next and was used last: what all planning starts from. Depends on the
/// program only, so one list serves every capacity and every rate. Refers to the program.
struct AccessList {
  explicit AccessList(const Program& program);

  const Program& program;
  std::vector<std::uint32_t> first_of;  ///< every value's first use
  std::vector<StepId> step_of;          ///< every use's step
  std::vector<std::uint32_t> next;      ///< every use's next use of the same value
  std::vector<std::uint32_t> previous;  ///< and the one before
  std::vector<StepNeed> needs;          ///< of every step
  std::vector<bool> is_live;  ///< after this use somebody still reads what the value now holds: a
                              ///< later step, or whoever takes the results

  /// Staying on chip after this use saves a read: the next use reads what the value holds now.
  bool is_reused(std::uint32_t use) const {
    return next[use] != no_use && program.uses[next[use]].reads;
  }
  std::int64_t bytes_of(std::uint32_t use) const {
    return program.values[program.uses[use].value].bytes;
  }
  /// The step of the next use; `never` after the last.
  StepId next_step(std::uint32_t use) const {
    return next[use] == no_use ? never : step_of[next[use]];
  }
};

}  // namespace strata
