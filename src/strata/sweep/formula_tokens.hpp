// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// A word of a formula.
struct FormulaToken {
  enum class Kind { number, name, text, sign };
  Kind kind = Kind::sign;
  std::string_view source;   ///< as typed
  std::size_t position = 0;  ///< of its first byte in the formula
  double number = 0;         ///< in base units: 128MiB is 134217728
  std::string_view text;     ///< between the quotes

  bool is(std::string_view sign) const { return kind == Kind::sign && source == sign; }
};

/// The words of a formula; they point into it. Numbers may carry a unit without a space: sizes
/// (128MB, 128MiB), rates (616GB/s, 13.45TFLOP/s), times (10ms) and thousands (1.5K). `and` and
/// `or` are && and ||. Errors (usage) say what cannot be read and where.
std::vector<FormulaToken> formula_tokens(std::string_view formula, std::string_view what);

/// "--where 'a + ': …" with the place: every message about a formula begins and ends like this.
[[noreturn]] void fail_at(std::string_view formula, std::string_view what, std::size_t position,
                          std::string_view message);

/// One of the demands that a constraint joins by &&: `left` `sign` `right`, or only `left` when it
/// is no comparison.
struct Demand {
  std::string text;
  std::string left;
  std::string sign;  ///< <, <=, >, >=, ==, != or empty
  std::string right;
};

/// The demands of a constraint; one that joins them otherwise (||, ?:) is a single demand without
/// a sign. The constraint has been read as a Formula before.
std::vector<Demand> demands_of(std::string_view constraint);

}  // namespace strata
