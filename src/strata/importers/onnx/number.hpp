// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/dim.hpp"

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

/// Numbers that are known before anything runs, and arithmetic on them. Exporters write shapes as
/// small computations (take the shape, pick an entry, divide, put together again); carrying them
/// out here, with symbols for what is open, is what keeps the batch a parameter.
namespace strata::onnx {

/// A whole number, possibly a multiple of a symbol, or a real one.
class Number {
 public:
  constexpr Number() = default;
  constexpr Number(Dim whole)
      : bits_(whole.factor), symbol_(whole.symbol) {}  // NOLINT(google-explicit-constructor)
  /// A real number; one without a fraction is kept as a whole number, so that height × 2.0 stays
  /// exact.
  static Number real(double value);
  static Number truth(bool value) { return Dim(value ? 1 : 0); }

  bool is_real() const { return symbol_ == real_mark; }
  bool is_plain() const { return symbol_ == 0 || is_real(); }  ///< no symbol in it
  /// The whole number; only where !is_real().
  Dim whole() const { return {bits_, symbol_}; }
  /// The value of a plain number.
  double value() const {
    return is_real() ? std::bit_cast<double>(bits_) : static_cast<double>(bits_);
  }
  bool is(std::int64_t number) const { return symbol_ == 0 && bits_ == number; }

  friend bool operator==(Number, Number) = default;

 private:
  static constexpr SymbolId real_mark = ~SymbolId{0};
  std::int64_t bits_ = 0;
  SymbolId symbol_ = 0;
};

using Numbers = std::vector<Number>;
/// Shared because many operators only pass their numbers on under another shape.
using KnownNumbers = std::shared_ptr<const Numbers>;

// Nothing: the result is not known, because it hangs on a symbol in a way that Symbols cannot say.
using MaybeNumber = std::optional<Number>;

MaybeNumber sum(Number a, Number b, Symbols& symbols);
MaybeNumber difference(Number a, Number b, Symbols& symbols);
MaybeNumber product(Number a, Number b, Symbols& symbols);
/// `whole`: the division of whole numbers, which rounds towards zero.
MaybeNumber quotient(Number a, Number b, bool whole, Symbols& symbols);
MaybeNumber remainder(Number a, Number b, Symbols& symbols);
MaybeNumber power(Number a, Number b);
MaybeNumber larger(Number a, Number b, Symbols& symbols);
MaybeNumber smaller(Number a, Number b, Symbols& symbols);

std::optional<bool> are_equal(Number a, Number b);
std::optional<bool> is_less(Number a, Number b);

}  // namespace strata::onnx
