// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/warning.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// Collects what a reader should know about an import. The same thing said of many layers becomes
/// one warning that names the first and counts the rest.
class Notes {
 public:
  /// Strict: an operator that is not counted is an error (unsupported) instead.
  explicit Notes(bool is_strict) : is_strict_(is_strict) {}

  void add(WarningCode code, std::string_view place, std::string_view what);

  /// "layer 'conv1' and 3 more: …", in the order of their first places.
  std::vector<Warning> warnings() const;

 private:
  struct Note {
    WarningCode code;
    std::string place;
    std::string what;
    std::size_t count;
  };

  bool is_strict_;
  std::vector<Note> notes_;
};

}  // namespace strata
