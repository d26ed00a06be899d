// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/network/dims.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace strata::network {
namespace {

constexpr std::size_t most_dims = 100;         // each mention is looked up in the list of all
constexpr std::size_t longest_formula = 1000;  // bounds the parser's recursion, too

constexpr std::array<std::string_view, 4> functions = {"floor", "ceil", "max", "min"};
constexpr std::string_view middle_dot = "·";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Recursive descent over
///   sum     = product { ("+" | "-") product }
///   product = factor { ("*" | "·" | "/") factor }
///   factor  = number | name | "-" factor | "(" sum ")" | ("floor" | "ceil") "(" factor "/" factor
///   ")"
///           | ("max" | "min") "(" sum "," sum ")"
class Formula {
 public:
  Formula(std::string_view text, DimReader& dims) : text_(text), rest_(text), dims_(dims) {
    if (text.size() > longest_formula) {
      fail(ErrorKind::input, "a formula of {} characters, the most is {}", text.size(),
           longest_formula);
    }
  }

  Dim value() {
    const Dim result = sum();
    if (!at_end()) fail_here("an operator");
    return result;
  }

 private:
  Symbols& symbols() { return dims_.symbols(); }

  Dim sum() {
    Dim result = product();
    for (;;) {
      if (accept("+")) {
        result = symbols().add(result, product());
      } else if (accept("-")) {
        result = symbols().subtract(result, product());
      } else {
        return result;
      }
    }
  }

  Dim product() {
    Dim result = factor();
    for (;;) {
      if (accept("*") || accept(middle_dot)) {
        result = symbols().multiply(result, factor());
      } else if (accept("/")) {
        result = symbols().divide_floor(result, factor());
      } else {
        return result;
      }
    }
  }

  Dim factor() {
    if (accept("-")) return symbols().multiply(-1, factor());
    if (accept("(")) {
      const Dim inner = sum();
      expect(")");
      return inner;
    }
    if (at_end()) fail_here("a number or a name");
    if (is_digit(rest_.front())) return number();
    if (is_letter(rest_.front())) return name_or_call();
    fail_here("a number or a name");
  }

  Dim number() {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (problem != std::errc{})
      fail(ErrorKind::input, "{}: a number is too large", in_quotes(text_));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  Dim name_or_call() {
    std::size_t length = 1;
    while (length < rest_.size() && (is_letter(rest_[length]) || is_digit(rest_[length]))) ++length;
    const std::string_view name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (!accept("(")) return dims_.named(name);
    const bool is_rounding = name == "floor" || name == "ceil";
    if (!is_rounding && name != "max" && name != "min") {
      fail(ErrorKind::input, "{}: no function is called {}; there are floor, ceil, max and min",
           in_quotes(text_), in_quotes(name));
    }
    const Dim left = is_rounding ? factor() : sum();
    expect(is_rounding ? "/" : ",");
    const Dim right = is_rounding ? factor() : sum();
    expect(")");
    if (name == "floor") return symbols().divide_floor(left, right);
    if (name == "ceil") return symbols().divide_ceil(left, right);
    return name == "max" ? symbols().maximum(left, right) : symbols().minimum(left, right);
  }

  bool at_end() {
    rest_ = trimmed(rest_);
    return rest_.empty();
  }

  bool accept(std::string_view token) {
    if (at_end() || !rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    at_end();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) fail_here(fmt::format("'{}'", token));
  }

  [[noreturn]] void fail_here(std::string_view expected) {
    fail(ErrorKind::input, "{}: expected {}, got {}", in_quotes(text_), expected,
         rest_.empty() ? "the end" : in_quotes(rest_));
  }

  std::string_view text_;
  std::string_view rest_;
  DimReader& dims_;
};

}  // namespace

bool is_dim_name(std::string_view name) {
  if (name.empty() || name.size() > longest_formula || !is_letter(name.front())) return false;
  if (std::find(functions.begin(), functions.end(), name) != functions.end()) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_known_dim(std::string_view name) { return name == "batch" || name == "seq"; }

void DimReader::declare(std::string_view name, std::optional<std::int64_t> default_value) {
  if (!is_dim_name(name)) {
    fail(ErrorKind::input, "a dimension is named by letters, digits and _");
  }
  if (declared_.size() >= most_dims) fail(ErrorKind::input, "more than {} dimensions", most_dims);
  if (default_value && *default_value < 1) {
    fail(ErrorKind::input, "must be at least 1, got {}", *default_value);
  }
  declared_.emplace_back(name);
  symbols_.parameter(name, default_value);
}

Dim DimReader::named(std::string_view name) {
  if (std::find(declared_.begin(), declared_.end(), name) != declared_.end()) {
    return symbols_.parameter(name);
  }
  if (is_known_dim(name)) return symbols_.parameter(name);
  std::vector<std::string> known = declared_;
  known.insert(known.end(), {"batch", "seq"});
  fail(ErrorKind::input,
       "no dimension is called {} (all but batch and seq are declared in 'dims'){}",
       in_quotes(name), did_you_mean(name, known));
}

Dim DimReader::parse(std::string_view formula) { return Formula(formula, *this).value(); }

Dim DimReader::read(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value.content)) return *number;
  if (const auto* formula = std::get_if<std::string>(&value.content)) return parse(*formula);
  fail_expected("a whole number or the name of a dimension", value);
}

Shape DimReader::read_shape(const Value& value) {
  Shape shape;
  for (const Value& extent : list_of(value)) shape.push_back(read(extent));
  return shape;
}

Shape DimReader::read_positive_shape(const Value& value) {
  const Shape shape = read_shape(value);
  for (const Dim extent : shape) {
    if (extent.factor < 1) {
      fail(ErrorKind::input, "an extent must be at least 1, got {}", symbols_.text(extent));
    }
  }
  return shape;
}

std::string formula_of(Dim dim, const Symbols& symbols) {
  const std::optional<std::string> whole = symbols.whole_text(dim, longest_formula);
  if (!whole) {
    fail(ErrorKind::unsupported, "the formula of a dimension is too long for a file: {}",
         symbols.text(dim));
  }
  const std::string& text = *whole;
  // Plain characters, for editors and keyboards.
  std::string formula;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_dot = std::string_view(text).substr(at).starts_with(middle_dot);
    formula += is_dot ? '*' : text[at];
    at += is_dot ? middle_dot.size() : 1;
  }
  return formula;
}

}  // namespace strata::network
