// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/memory_need.hpp"

#include "strata/base/units.hpp"

#include <fmt/format.h>

namespace strata {

std::string out_of_memory_text(const MemoryNeed& memory) {
  std::string text = fmt::format("out of memory: needs {}, has {}",
                                 format_capacity(static_cast<double>(memory.needed_bytes)),
                                 format_capacity(memory.device_bytes));
  if (memory.largest_batch)
    text += *memory.largest_batch > 0
                ? fmt::format("; the largest batch that fits is {}", *memory.largest_batch)
                : "; no batch fits";
  return text;
}

std::string memory_changes_text(const MemoryNeed& memory) {
  std::vector<std::string> texts;
  for (const MemoryChange& one : memory.changes)
    texts.push_back(fmt::format("{} needs {}{}", one.change,
                                format_capacity(static_cast<double>(one.needed_bytes)),
                                one.fits ? " and fits" : ""));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace strata
