// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <cstdint>
#include <limits>
#include <vector>

/// What a program could keep on chip, and what each thing kept would save: the material of bounds
/// and of the exact optimum.
namespace strata {

inline constexpr std::uint32_t no_version = std::numeric_limits<std::uint32_t>::max();

/// From one use of a value to its next, where the next one reads it. Kept on chip, it saves that
/// read.
struct KeepInterval {
  ValueId value = 0;
  std::uint32_t first_use = 0;  ///< indices in Program::uses
  std::uint32_t last_use = 0;
  StepId begin = 0;  ///< their steps; begin < end
  StepId end = 0;
  std::uint32_t version = no_version;  ///< that it carries, where the chip changed it
  std::int64_t bytes = 0;
};

/// What a value holds from one write to the next. It is written out once, unless all intervals that
/// carry it are kept and nobody outside wants it.
struct ValueVersion {
  std::uint32_t write_use = 0;
  StepId made_at = 0;
  std::uint32_t first_interval = 0;  ///< its intervals are consecutive
  std::uint32_t intervals = 0;
  bool is_result = false;  ///< the last one of a result: written whatever is kept
  std::int64_t bytes = 0;
};

/// A use that reads what was given, the first of its value: a load in any case.
struct FirstRead {
  std::uint32_t use = 0;
  StepId step = 0;
  std::int64_t bytes = 0;
};

struct KeepIntervals {
  std::vector<KeepInterval> intervals;  ///< value by value, each in the order of its uses
  std::vector<ValueVersion> versions;
  std::vector<FirstRead> first_reads;
  std::int64_t compulsory_bytes = 0;  ///< given values read, results written
  std::int64_t avoidable_bytes = 0;   ///< what moves besides when nothing is kept: every read, and
                                      ///< one write of every version that is read again
};

/// Values of no bytes are left out.
KeepIntervals keep_intervals(const Program& program);

/// For every version, the interval that a bound charges with its write; of a version without
/// intervals, no_version. A write is saved only when all intervals of the version are kept, which
/// is no flow; charged to any one of them the bound stays valid, and it loses little when that is
/// the one kept last: the one that lies across most of what else could be kept.
std::vector<std::uint32_t> charged_intervals(const KeepIntervals& keep, std::size_t steps);

}  // namespace strata
