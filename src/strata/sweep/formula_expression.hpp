// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

/// Arithmetic over numbered variables, done by muParser; a build without it has a stand-in that
/// refuses. Who reads what people type is formula.hpp; nothing else comes here.
namespace strata {

/// Why a text is no expression, and where in it.
struct ExpressionFault {
  enum class Kind { unexpected, unfinished, parenthesis, too_many_arguments, too_few_arguments };
  Kind kind = Kind::unexpected;
  std::size_t position = 0;
};

class Expression {
 public:
  virtual ~Expression() = default;
  /// One number for each variable. Not for two threads at once: variables have one place each.
  virtual double value_of(std::span<const double> variables) = 0;
};

/// The name that variable `index` has in an expression.
std::string variable_name(std::size_t index);

/// Null, and the fault, when the text cannot be read. An error (environment) in a build without
/// muParser.
std::unique_ptr<Expression> read_expression(const std::string& text, std::size_t variables,
                                            ExpressionFault& fault);

}  // namespace strata
