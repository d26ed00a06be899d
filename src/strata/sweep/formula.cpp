// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/formula.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/sweep/column_name.hpp"
#include "strata/sweep/formula_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata {
namespace {

// What a formula may call; of muParser's functions the trigonometric ones are left out.
const std::vector<std::string>& function_names() {
  static const std::vector<std::string> names = {"abs",  "avg",   "ceil", "exp", "floor",
                                                 "ln",   "log10", "log2", "max", "min",
                                                 "rint", "sign",  "sqrt", "sum"};
  return names;
}

std::vector<std::string> names_of(std::span<const FormulaColumn> columns) {
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (const FormulaColumn& column : columns) names.push_back(column.name);
  return names;
}

std::string unknown_column(std::string_view name, std::span<const FormulaColumn> columns) {
  const std::vector<std::string> names = names_of(columns);
  return fmt::format("no column '{}'{} (columns: {})", name, did_you_mean(name, names),
                     fmt::join(names, ", "));
}

}  // namespace

std::optional<std::size_t> find_column(std::string_view name,
                                       std::span<const FormulaColumn> columns) {
  return find_column_name(name, columns.size(), [&](std::size_t column) -> std::string_view {
    return columns[column].name;
  });
}

std::size_t column_named(std::string_view name, std::span<const FormulaColumn> columns,
                         std::string_view what) {
  if (const auto column = find_column(name, columns)) return *column;
  fail(ErrorKind::usage, "{}: {}", what, unknown_column(name, columns));
}

/// Writes a formula again in the words of the expression: numbers in base units, v0, v1, … for
/// columns and for comparisons with a text.
class FormulaReader {
 public:
  FormulaReader(Formula& formula, std::span<const FormulaColumn> columns, std::string_view what)
      : formula_(formula), columns_(columns), what_(what) {}

  void read() {
    const std::string_view text = formula_.text_;
    if (text.size() > longest_formula)
      fail_at(text, what_, longest_formula,
              fmt::format("a formula has at most {} characters", longest_formula));
    tokens_ = formula_tokens(text, what_);
    if (tokens_.empty()) fail_at(text, what_, 0, "the formula is empty");
    while (at_ < tokens_.size()) rewrite(tokens_[at_++]);
    if (!open_.empty()) fail_at(text, what_, open_.back().position, "'(' without its ')'");
    compile();
    list_columns();
  }

 private:
  using Kind = FormulaToken::Kind;
  struct Open {
    std::size_t position;
    bool is_call;
  };

  void fail_here(const FormulaToken& token, std::string_view message) const {
    fail_at(formula_.text_, what_, token.position, message);
  }

  const FormulaToken* next() const { return at_ < tokens_.size() ? &tokens_[at_] : nullptr; }

  void emit(const FormulaToken& token, std::string_view text) {
    places_.push_back({expression_.size(), &token});
    expression_ += text;
    expression_ += ' ';
  }

  void rewrite(const FormulaToken& token) {
    switch (token.kind) {
      case Kind::number: emit(token, fmt::format("{}", token.number)); return;
      case Kind::name: rewrite_name(token); return;
      case Kind::text: rewrite_text(token); return;
      case Kind::sign: rewrite_sign(token); return;
    }
  }

  void rewrite_sign(const FormulaToken& token) {
    if (token.is("(")) open(token, /*is_call=*/false);
    if (token.is(")")) {
      if (open_.empty()) fail_here(token, "')' without its '('");
      open_.pop_back();
    }
    if (token.is(",") && (open_.empty() || !open_.back().is_call))
      fail_here(token, "a ',' is only between the arguments of a function");
    emit(token, token.source);
  }

  void open(const FormulaToken& token, bool is_call) {
    if (open_.size() == deepest_formula)
      fail_here(token, fmt::format("at most {} parentheses within each other", deepest_formula));
    open_.push_back({token.position, is_call});
  }

  void rewrite_name(const FormulaToken& token) {
    if (next() && next()->is("(")) {
      const std::vector<std::string>& known = function_names();
      if (std::find(known.begin(), known.end(), token.source) == known.end())
        fail_here(token, fmt::format("no function '{}'{} (functions: {})", token.source,
                                     did_you_mean(token.source, known), fmt::join(known, ", ")));
      open(token, /*is_call=*/true);
      emit(token, fmt::format("{}(", token.source));  // muParser wants no space between the two
      ++at_;
      return;
    }
    const auto column = find_column(token.source, columns_);
    const bool is_behind_number = at_ >= 2 && tokens_[at_ - 2].kind == Kind::number;
    if (!column && is_behind_number)
      fail_here(token, "a unit stands right behind its number, without a space: 128MiB");
    if (!column) fail_here(token, unknown_column(token.source, columns_));
    if (columns_[*column].is_text) {
      rewrite_text_column(token, *column);
    } else {
      emit(token, variable({.column = *column, .equals = {}}));
    }
  }

  void rewrite_text_column(const FormulaToken& token, std::size_t column) {
    const FormulaToken* sign = next();
    const FormulaToken* text = at_ + 1 < tokens_.size() ? &tokens_[at_ + 1] : nullptr;
    const bool is_test =
        sign && text && (sign->is("==") || sign->is("!=")) && text->kind == Kind::text;
    if (!is_test)
      fail_here(token, fmt::format("column '{0}' holds text; only {0} == \"…\" and {0} != \"…\" "
                                   "can be asked",
                                   columns_[column].name));
    emit_test(token, column, text->text, sign->is("!="));
    at_ += 2;
  }

  // The other way round: "resnet50" == model.
  void rewrite_text(const FormulaToken& token) {
    const FormulaToken* sign = next();
    const FormulaToken* name = at_ + 1 < tokens_.size() ? &tokens_[at_ + 1] : nullptr;
    const bool is_test =
        sign && name && (sign->is("==") || sign->is("!=")) && name->kind == Kind::name;
    if (!is_test) fail_here(token, "a text can only be compared with a column, by == or !=");
    const auto column = find_column(name->source, columns_);
    if (!column) fail_here(*name, unknown_column(name->source, columns_));
    if (!columns_[*column].is_text)
      fail_here(*name, fmt::format("column '{}' holds numbers", columns_[*column].name));
    emit_test(token, *column, token.text, sign->is("!="));
    at_ += 2;
  }

  void emit_test(const FormulaToken& token, std::size_t column, std::string_view text,
                 bool is_not) {
    const std::string name = variable({.column = column, .equals = std::string(text)});
    emit(token, is_not ? fmt::format("({} == 0)", name) : name);
  }

  std::string variable(Formula::Variable wanted) {
    auto& variables = formula_.variables_;
    const auto same = [&](const Formula::Variable& known) {
      return known.column == wanted.column && known.equals == wanted.equals;
    };
    auto known = std::find_if(variables.begin(), variables.end(), same);
    if (known == variables.end()) known = variables.insert(known, std::move(wanted));
    return variable_name(static_cast<std::size_t>(known - variables.begin()));
  }

  void compile() {
    ExpressionFault fault;
    formula_.values_.resize(formula_.variables_.size());
    formula_.expression_ = read_expression(expression_, formula_.variables_.size(), fault);
    if (formula_.expression_) return;
    const FormulaToken* token = token_at(fault.position);
    const std::size_t position = token ? token->position : formula_.text_.size();
    fail_at(formula_.text_, what_, position, message_of(fault.kind, token));
  }

  /// The word that the expression has there; null behind its end.
  const FormulaToken* token_at(std::size_t place) const {
    if (place + 1 >= expression_.size()) return nullptr;
    const FormulaToken* found = nullptr;
    for (const Place& known : places_) {
      if (known.begin <= place) found = known.token;
    }
    return found;
  }

  static std::string message_of(ExpressionFault::Kind kind, const FormulaToken* token) {
    const std::string word = token ? fmt::format("'{}'", token->source) : "the end";
    switch (kind) {
      case ExpressionFault::Kind::unexpected: return fmt::format("{} is not expected here", word);
      case ExpressionFault::Kind::unfinished: return "something is missing here";
      case ExpressionFault::Kind::parenthesis: return "parentheses do not match";
      case ExpressionFault::Kind::too_many_arguments: return "too many arguments";
      case ExpressionFault::Kind::too_few_arguments: return "too few arguments";
    }
    return {};
  }

  void list_columns() {
    std::vector<std::size_t>& needed = formula_.columns_;
    for (const Formula::Variable& variable : formula_.variables_) needed.push_back(variable.column);
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  }

  struct Place {
    std::size_t begin;  // in the expression
    const FormulaToken* token;
  };

  Formula& formula_;
  std::span<const FormulaColumn> columns_;
  std::string_view what_;
  std::vector<FormulaToken> tokens_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  std::string expression_;
  std::vector<Place> places_;
};

std::string variable_name(std::size_t index) { return fmt::format("v{}", index); }

Formula::Formula(std::string_view text, std::span<const FormulaColumn> columns,
                 std::string_view what)
    : text_(text) {
  FormulaReader(*this, columns, what).read();
  if (!variables_.empty() || std::isfinite(expression_->value_of(values_))) return;
  fail(ErrorKind::usage,
       "{}: '{}' has no value: it divides by zero, or takes a root or a logarithm of what has none",
       what, text_);
}

double Formula::value(const FormulaRow& row) {
  for (std::size_t index = 0; index < variables_.size(); ++index) {
    const Variable& variable = variables_[index];
    if (variable.equals) {
      values_[index] = row.text(variable.column) == *variable.equals ? 1 : 0;
      continue;
    }
    values_[index] = row.number(variable.column);
    // Comparisons with NaN would answer something: x != 3 holds. What is missing decides nothing.
    if (std::isnan(values_[index])) return std::numeric_limits<double>::quiet_NaN();
  }
  return expression_->value_of(values_);
}

bool Formula::holds(const FormulaRow& row) {
  const double result = value(row);
  return std::isfinite(result) && result != 0;
}

ColumnDefinition read_column_definition(std::string_view text,
                                        std::span<const FormulaColumn> columns,
                                        std::string_view what) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    fail(ErrorKind::usage, "{} expects NAME=FORMULA, got '{}'", what, text);
  const std::string name(trimmed(text.substr(0, equals)));
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool is_name = !name.empty() && name.size() <= 64 && !(name[0] >= '0' && name[0] <= '9') &&
                       std::all_of(name.begin(), name.end(), is_plain) && name != "and" &&
                       name != "or";
  if (!is_name)
    fail(ErrorKind::usage, "{}: '{}' is no name for a column; letters, digits and '_' make one",
         what, name);
  // "area" too, where it means area_mm2: a formula would not know which of the two.
  if (const auto column = find_column(name, columns))
    fail(ErrorKind::usage, "{}: '{}' means the column {} already", what, name,
         columns[*column].name);
  return {name, std::string(trimmed(text.substr(equals + 1)))};
}

}  // namespace strata
