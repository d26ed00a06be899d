// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace strata {

/// A number that stands for a text of a NameTable.
using NameId = std::uint32_t;

/// Each text once. A training run launches millions of kernels of a few hundred names; its rows
/// carry the number. The number 0 is the empty text. Not copied: what it hands out points into it.
class NameTable {
 public:
  NameTable();
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;
  ~NameTable() = default;

  /// The number of a text, a new one when it was not there. Errors (input): more than 2³² − 1.
  NameId id_of(std::string_view text);

  /// The text of a number that id_of gave. Errors (internal) when it did not.
  std::string_view text(NameId id) const;

  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  ///< a deque never moves what it holds: views stay valid
  std::unordered_map<std::string_view, NameId> ids_;
};

}  // namespace strata
