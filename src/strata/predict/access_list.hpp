// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/capacity.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace strata {

/// Stands for "none" among indices into Program::uses.
inline constexpr std::uint32_t no_use = ~std::uint32_t{0};

/// The next and the previous use of every value; all planning starts from it. It depends on the
/// program only, so one list serves every capacity and every rate. Refers to the program.
struct AccessList {
  explicit AccessList(const Program& program);

  /// What planning and the timed pass read of a use; together, so that it fits half a cache line.
  struct Facts {
    ValueId value = 0;
    std::uint32_t before = no_use;  ///< the use before of the same value
    StepId next_step = never;       ///< of the next use
    bool reads : 1 = false;
    bool writes : 1 = false;
    bool is_live : 1 = false;        ///< what the value holds after this use is read again: by a
                                     ///< later step, or as a result of the iteration
    bool is_reused : 1 = false;      ///< staying on chip after it saves a read: the next use reads
    bool must_be_whole : 1 = false;  ///< every output of its step needs all of the value
    std::int64_t bytes = 0;
    std::int64_t least_bytes = 0;  ///< that its step may hold of it
  };

  const Program& program;
  std::vector<std::uint32_t> first_of;  ///< every value's first use
  std::vector<StepId> step_of;          ///< every use's step
  std::vector<std::uint32_t> next;      ///< every use's next use of the same value
  std::vector<std::uint32_t> previous;  ///< and the one before
  std::vector<StepNeed> needs;          ///< of every step
  std::vector<Facts> facts;             ///< of every use
  std::vector<std::uint32_t> by_value;  ///< the uses of every step, the lower value first

  bool is_live(std::uint32_t use) const { return facts[use].is_live; }
  bool is_reused(std::uint32_t use) const { return facts[use].is_reused; }
  std::int64_t bytes_of(std::uint32_t use) const { return facts[use].bytes; }
  /// The step of the next use; `never` after the last.
  StepId next_step(std::uint32_t use) const { return facts[use].next_step; }
  std::uint32_t first_use(StepId step) const {
    return step < program.steps.size() ? program.steps[step].first_use
                                       : static_cast<std::uint32_t>(facts.size());
  }
  std::span<const std::uint32_t> uses_by_value(StepId step) const {
    const std::uint32_t first = first_use(step);
    return {by_value.data() + first, first_use(step + 1) - first};
  }
};

}  // namespace strata
