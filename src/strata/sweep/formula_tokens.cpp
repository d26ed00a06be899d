// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/formula_tokens.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace strata {
namespace {

constexpr std::string_view two_letter_signs[] = {"&&", "||", "==", "!=", "<=", ">="};
constexpr std::string_view one_letter_signs = "+-*/^<>?:,()";
constexpr std::size_t longest_quote = 200;  // of a formula in a message

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name_start(char c) { return is_letter(c) || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c) || c == '.'; }

class TokenReader {
 public:
  TokenReader(std::string_view formula, std::string_view what) : formula_(formula), what_(what) {}

  std::vector<FormulaToken> all() {
    std::vector<FormulaToken> tokens;
    for (skip_space(); at_ < formula_.size(); skip_space()) tokens.push_back(next());
    return tokens;
  }

 private:
  using Kind = FormulaToken::Kind;

  void skip_space() {
    while (at_ < formula_.size() && (formula_[at_] == ' ' || formula_[at_] == '\t')) ++at_;
  }

  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < formula_.size() ? formula_[at_ + ahead] : '\0';
  }

  FormulaToken token(Kind kind, std::size_t length) {
    FormulaToken token{
        .kind = kind, .source = formula_.substr(at_, length), .position = at_, .text = {}};
    at_ += length;
    return token;
  }

  FormulaToken next() {
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (is_name_start(c)) return name();
    if (c == '"' || c == '\'') return quoted();
    return sign();
  }

  FormulaToken name() {
    std::size_t length = 1;
    while (is_name_part(peek(length))) ++length;
    FormulaToken read = token(Kind::name, length);
    if (read.source == "and" || read.source == "or") {
      read.kind = Kind::sign;
      read.source = read.source == "and" ? "&&" : "||";
    }
    return read;
  }

  FormulaToken quoted() {
    const std::size_t end = formula_.find(peek(), at_ + 1);
    if (end == std::string_view::npos) fail_at(formula_, what_, at_, "the text has no end");
    FormulaToken read = token(Kind::text, end + 1 - at_);
    read.text = read.source.substr(1, read.source.size() - 2);
    return read;
  }

  FormulaToken sign() {
    const std::string_view rest = formula_.substr(at_);
    for (const std::string_view known : two_letter_signs) {
      if (rest.starts_with(known)) return token(Kind::sign, known.size());
    }
    if (one_letter_signs.find(peek()) != std::string_view::npos) return token(Kind::sign, 1);
    switch (peek()) {
      case '=': fail_at(formula_, what_, at_, "a formula cannot set anything; == compares");
      case '&': fail_at(formula_, what_, at_, "both must hold is &&");
      case '|': fail_at(formula_, what_, at_, "one must hold is ||");
      case '!': fail_at(formula_, what_, at_, "there is no '!'; compare with == 0");
      case '%': fail_at(formula_, what_, at_, "there is no '%'; write 0.05 for 5 %");
      default: fail_at(formula_, what_, at_, "a formula has no such sign");
    }
  }

  FormulaToken number() {
    const char* const first = formula_.data() + at_;
    double value = 0;
    const auto [rest, status] = std::from_chars(first, formula_.data() + formula_.size(), value);
    if (status != std::errc()) fail_at(formula_, what_, at_, "the number is out of range");
    const auto digits = static_cast<std::size_t>(rest - first);
    std::size_t length = digits;
    while (is_letter(peek(length))) ++length;
    const bool is_rate = length > digits && peek(length) == '/' && peek(length + 1) == 's' &&
                         !is_name_part(peek(length + 2));
    if (is_rate) length += 2;
    FormulaToken read = token(Kind::number, length);
    read.number = length == digits ? value : with_unit(read, read.source.substr(digits));
    if (is_digit(peek()) || peek() == '.' || peek() == '_') fail_unit(read);
    return read;
  }

  // The unit says what kind of number it is: a rate, a size, a time, or a plain number of
  // thousands.
  double with_unit(const FormulaToken& read, std::string_view typed_unit) {
    const std::string unit = lower_case(typed_unit);
    try {
      if (unit.find("flop") != std::string::npos) return parse_flop_per_s(read.source, what_);
      if (unit.ends_with("/s")) return parse_bytes_per_s(read.source, what_);
      if (unit.ends_with("b")) return static_cast<double>(parse_bytes(read.source, what_));
      if (unit.ends_with("s")) return parse_time(read.source, what_);
      return parse_number(read.source, what_);  // 13.45T
    } catch (const Error&) {
      fail_unit(read);
    }
  }

  [[noreturn]] void fail_unit(const FormulaToken& read) {
    fail_at(formula_, what_, read.position,
            "a number with an unknown unit; MB, MiB, GB/s, TFLOP/s, ms or K can follow it");
  }

  std::string_view formula_;
  std::string_view what_;
  std::size_t at_ = 0;
};

bool is_comparison(const FormulaToken& token) {
  return token.is("<") || token.is("<=") || token.is(">") || token.is(">=") || token.is("==") ||
         token.is("!=");
}

std::string_view between(std::string_view formula, std::size_t begin, std::size_t end) {
  return trimmed(formula.substr(begin, end - begin));
}

Demand demand_of(std::string_view text) {
  Demand demand{.text = std::string(text), .left = std::string(text), .sign = {}, .right = {}};
  int depth = 0;
  for (const FormulaToken& token : formula_tokens(text, "")) {
    depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
    if (depth != 0 || !is_comparison(token)) continue;
    if (!demand.sign.empty())  // a < b < c compares a truth: not what a distance is measured to
      return {.text = demand.text, .left = demand.text, .sign = {}, .right = {}};
    demand.sign = token.source;
    demand.left = between(text, 0, token.position);
    demand.right = between(text, token.position + token.source.size(), text.size());
  }
  return demand;
}

}  // namespace

void fail_at(std::string_view formula, std::string_view what, std::size_t position,
             std::string_view message) {
  const bool is_long = formula.size() > longest_quote;
  // What was typed may hold anything; a message is one line.
  const std::string quoted = printable(formula.substr(0, longest_quote));
  fail(ErrorKind::usage, "{} '{}{}', position {}: {}", what, quoted, is_long ? "…" : "",
       position + 1, message);
}

std::vector<FormulaToken> formula_tokens(std::string_view formula, std::string_view what) {
  return TokenReader(formula, what).all();
}

std::vector<Demand> demands_of(std::string_view constraint) {
  std::vector<Demand> demands;
  int depth = 0;
  std::size_t begin = 0;
  for (const FormulaToken& token : formula_tokens(constraint, "")) {
    depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
    if (depth != 0) continue;
    if (token.is("||") || token.is("?")) {
      const std::string all(trimmed(constraint));
      return {{.text = all, .left = all, .sign = {}, .right = {}}};
    }
    if (!token.is("&&")) continue;
    demands.push_back(demand_of(between(constraint, begin, token.position)));
    const bool is_word = constraint[token.position] == 'a';  // "and" stands for &&
    begin = token.position + (is_word ? 3 : 2);
  }
  demands.push_back(demand_of(between(constraint, begin, constraint.size())));
  return demands;
}

}  // namespace strata
