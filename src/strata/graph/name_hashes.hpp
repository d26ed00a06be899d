// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

/// Which names were seen, by their hashes, in one flat table: a set of strings would cost more than
/// everything else that adding a node to a graph does. Two names with one hash are taken for equal.
class NameHashes {
 public:
  /// True when the name is new.
  bool insert(std::string_view name) {
    if (2 * (size_ + 1) > slots_.size()) grow(slots_.empty() ? 64 : 2 * slots_.size());
    std::size_t hash = std::hash<std::string_view>()(name);
    if (hash == 0) hash = 1;  // 0 marks a free slot
    std::size_t& slot = slot_of(hash);
    if (slot == hash) return false;
    slot = hash;
    ++size_;
    return true;
  }

  void reserve(std::size_t names) {
    std::size_t slots = 64;
    while (slots < 2 * names) slots *= 2;
    if (slots > slots_.size()) grow(slots);
  }

 private:
  // The slot that holds the hash, or the free one where it belongs; the number of slots is a power
  // of two.
  std::size_t& slot_of(std::size_t hash) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at] != 0 && slots_[at] != hash) at = (at + 1) & mask;
    return slots_[at];
  }

  void grow(std::size_t slots) {
    const std::vector<std::size_t> old = std::exchange(slots_, std::vector<std::size_t>(slots, 0));
    for (const std::size_t hash : old) {
      if (hash != 0) slot_of(hash) = hash;
    }
  }

  std::vector<std::size_t> slots_;
  std::size_t size_ = 0;
};

}  // namespace strata
