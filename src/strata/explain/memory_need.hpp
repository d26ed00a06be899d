// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What an iteration needs of the device's memory, and what would make it less.
namespace strata {

/// The iteration with one thing changed.
struct MemoryChange {
  std::string change;  ///< "--recompute blocks"
  std::int64_t needed_bytes = 0;
  bool fits = false;
};

struct MemoryNeed {
  std::int64_t needed_bytes = 0;
  double device_bytes = 0;
  std::optional<std::int64_t> largest_batch = {};  ///< that fits; 0: none; nothing: not known
  std::vector<MemoryChange> changes = {};          ///< of what does not fit

  bool fits() const { return static_cast<double>(needed_bytes) <= device_bytes; }
};

/// "out of memory: needs 498 GiB, has 141 GiB; the largest batch that fits is 144".
std::string out_of_memory_text(const MemoryNeed& memory);
/// "--recompute blocks needs 120 GiB and fits, --optimizer sgd 497 GiB"; empty: nothing is known.
std::string memory_changes_text(const MemoryNeed& memory);

}  // namespace strata
