// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace strata {

using SymbolId = std::uint32_t;

/// One extent of a tensor: factor × symbol. Symbol 0 is the number one, so a plain number is {n, 0}
/// and needs no table. Everything else (batch, sequence length, and what operators make of them) is
/// a symbol of the graph's Symbols, bound to a number late: one Graph serves every batch size.
struct Dim {
  std::int64_t factor = 1;
  SymbolId symbol = 0;

  constexpr Dim() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): 64 is a Dim
  constexpr Dim(std::int64_t number) : factor(number) {}
  constexpr Dim(std::int64_t times, SymbolId of) : factor(times), symbol(times == 0 ? 0 : of) {}

  constexpr bool is_number() const { return symbol == 0; }
  constexpr bool is(std::int64_t number) const { return symbol == 0 && factor == number; }
  friend constexpr bool operator==(Dim, Dim) = default;
};

/// A number that the user may choose when the graph is bound.
struct Parameter {
  std::string name;
  std::optional<std::int64_t> default_value;
};

/// What parameters are to be: name → value. Names that are absent take their default.
using Binding = std::unordered_map<std::string, std::int64_t>;

/// The symbols of one graph: parameters, and expressions over them that shape inference needed
/// (batch·seq, ⌊(seq − 3)/2⌋ + 1). Equal expressions get equal ids, so Dims compare by value.
/// Arithmetic on plain numbers never touches the table.
class Symbols {
 public:
  Symbols();

  /// The parameter of that name, made on first mention. A default given later fills an absent one.
  Dim parameter(std::string_view name, std::optional<std::int64_t> default_value = std::nullopt);
  const std::vector<Parameter>& parameters() const { return parameters_; }

  Dim add(Dim a, Dim b);
  Dim subtract(Dim a, Dim b);
  Dim multiply(Dim a, Dim b);
  Dim divide_floor(Dim a, Dim b);
  Dim divide_ceil(Dim a, Dim b);
  Dim maximum(Dim a, Dim b);
  Dim minimum(Dim a, Dim b);

  /// a / b where b is known to divide a; reports nullopt when it cannot (numbers with a rest).
  std::optional<Dim> divide_exactly(Dim a, Dim b);

  /// The value of every symbol under a binding, indexed by SymbolId. Errors: an unknown name, a
  /// parameter without value, a division by zero, overflow.
  std::vector<std::int64_t> evaluate(const Binding& binding) const;

  /// n where `dim` is min(of, n): as far as `of` may grow if the two are to be equal.
  std::optional<std::int64_t> limit(Dim dim, Dim of) const;

  /// "32", "batch", "2·batch·seq", "(seq - 3)/2 + 1": for people and for messages.
  std::string text(Dim dim) const;

  /// The same with nothing left out, so that it can be read again; nothing when it has more than
  /// `longest` characters.
  std::optional<std::string> whole_text(Dim dim, std::size_t longest) const;

 private:
  enum class Kind : std::uint8_t {
    one,
    parameter,
    sum,
    product,
    floor_quotient,
    ceil_quotient,
    maximum,
    minimum
  };
  struct Expression {
    Kind kind = Kind::one;
    Dim left;  // for a parameter, left.factor is its index
    Dim right;
    friend bool operator==(const Expression&, const Expression&) = default;
  };
  struct ExpressionHash {
    std::size_t operator()(const Expression& expression) const noexcept;
  };

  Dim intern(Kind kind, Dim left, Dim right);
  std::string text(Dim dim, int depth, std::size_t& parts) const;
  bool is_positive(Dim dim) const;

  std::vector<Expression> expressions_;
  std::vector<Parameter> parameters_;
  std::unordered_map<Expression, SymbolId, ExpressionHash> ids_;
};

}  // namespace strata
