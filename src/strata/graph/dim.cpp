// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/dim.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

// Expressions come from files of strangers; real networks need a few dozen.
constexpr std::size_t most_symbols = 100'000;

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

std::int64_t ceil_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) == (b < 0)) ? quotient + 1 : quotient;
}

void refuse_zero(std::int64_t divisor) {
  if (divisor == 0) fail(ErrorKind::input, "a size is divided by zero");
  if (divisor == -1)
    fail(ErrorKind::input, "a size is divided by -1");  // INT64_MIN / -1 would trap
}

}  // namespace

Symbols::Symbols() : expressions_(1) {}

Dim Symbols::parameter(std::string_view name, std::optional<std::int64_t> default_value) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name != name) continue;
    if (!parameters_[i].default_value) parameters_[i].default_value = default_value;
    return intern(Kind::parameter, Dim(static_cast<std::int64_t>(i)), Dim());
  }
  parameters_.push_back({std::string(name), default_value});
  return intern(Kind::parameter, Dim(static_cast<std::int64_t>(parameters_.size()) - 1), Dim());
}

Dim Symbols::add(Dim a, Dim b) {
  if (a.is_number() && b.is_number()) return checked_add(a.factor, b.factor);
  if (a.symbol == b.symbol) return {checked_add(a.factor, b.factor), a.symbol};
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  if (a.is_number()) std::swap(a, b);
  // (x + 1) + 2 is x + 3: the number stays on the right, alone, so that sums of one symbol stay
  // comparable.
  if (b.is_number() && a.factor == 1) {
    const Expression sum = expressions_[a.symbol];
    if (sum.kind == Kind::sum && sum.right.is_number())
      return add(sum.left, checked_add(sum.right.factor, b.factor));
  }
  if (!b.is_number() && std::pair(b.symbol, b.factor) < std::pair(a.symbol, a.factor))
    std::swap(a, b);
  return intern(Kind::sum, a, b);
}

Dim Symbols::subtract(Dim a, Dim b) { return add(a, Dim(checked_mul(b.factor, -1), b.symbol)); }

Dim Symbols::multiply(Dim a, Dim b) {
  const std::int64_t factor = checked_mul(a.factor, b.factor);
  if (a.is_number() || b.is_number()) return {factor, a.is_number() ? b.symbol : a.symbol};
  Dim left(1, a.symbol);
  Dim right(1, b.symbol);
  if (right.symbol < left.symbol) std::swap(left, right);
  return {factor, intern(Kind::product, left, right).symbol};
}

std::optional<Dim> Symbols::divide_exactly(Dim a, Dim b) {
  if (b.factor <= 0) return std::nullopt;
  if (b.is_number() || a.symbol == b.symbol) {
    if (a.factor % b.factor == 0)
      return Dim(a.factor / b.factor, b.is_number() ? a.symbol : SymbolId{0});
    if (a.is_number()) return std::nullopt;
  }
  // (batch·seq) / seq is batch: the common case of a reshape that splits merged axes again.
  const Expression product = expressions_[a.symbol];
  if (!b.is_number() && product.kind == Kind::product && a.factor % b.factor == 0) {
    const std::int64_t factor = a.factor / b.factor;
    if (product.left.symbol == b.symbol) return Dim(factor, product.right.symbol);
    if (product.right.symbol == b.symbol) return Dim(factor, product.left.symbol);
  }
  return intern(Kind::floor_quotient, a, b);
}

Dim Symbols::divide_floor(Dim a, Dim b) {
  if (a.is_number() && b.is_number()) {
    refuse_zero(b.factor);
    return floor_quotient(a.factor, b.factor);
  }
  if (b.is(1)) return a;
  if (b.is_number() && b.factor > 0 && a.factor % b.factor == 0)
    return {a.factor / b.factor, a.symbol};
  return intern(Kind::floor_quotient, a, b);
}

Dim Symbols::divide_ceil(Dim a, Dim b) {
  if (a.is_number() && b.is_number()) {
    refuse_zero(b.factor);
    return ceil_quotient(a.factor, b.factor);
  }
  if (b.is(1)) return a;
  if (b.is_number() && b.factor > 0 && a.factor % b.factor == 0)
    return {a.factor / b.factor, a.symbol};
  return intern(Kind::ceil_quotient, a, b);
}

Dim Symbols::maximum(Dim a, Dim b) {
  if (a.is_number() && b.is_number()) return std::max(a.factor, b.factor);
  if (a == b || (b.is_number() && b.factor <= 1 && is_positive(a))) return a;
  if (a.is_number() && a.factor <= 1 && is_positive(b)) return b;
  return intern(Kind::maximum, a, b);
}

Dim Symbols::minimum(Dim a, Dim b) {
  if (a.is_number() && b.is_number()) return std::min(a.factor, b.factor);
  if (a == b || (a.is_number() && a.factor <= 1 && is_positive(b))) return a;
  if (b.is_number() && b.factor <= 1 && is_positive(a)) return b;
  return intern(Kind::minimum, a, b);
}

// Parameters are at least 1, so their positive multiples are; a product is looked into once, which
// is what networks need.
bool Symbols::is_positive(Dim dim) const {
  if (dim.factor < 1) return false;
  const auto is_parameter = [this](Dim part) {
    return expressions_[part.symbol].kind == Kind::parameter;
  };
  const Expression& expression = expressions_[dim.symbol];
  return is_parameter(dim) || (expression.kind == Kind::product && is_parameter(expression.left) &&
                               is_parameter(expression.right));
}

std::vector<std::int64_t> Symbols::evaluate(const Binding& binding) const {
  for (const auto& [name, value] : binding) {
    const bool known =
        std::any_of(parameters_.begin(), parameters_.end(),
                    [&name = name](const Parameter& parameter) { return parameter.name == name; });
    if (!known) fail(ErrorKind::usage, "the network has no dimension named '{}'", name);
    if (value < 1) fail(ErrorKind::usage, "dimension '{}' must be at least 1, got {}", name, value);
  }
  std::vector<std::int64_t> values(expressions_.size(), 1);
  const auto value_of = [&values](Dim dim) { return checked_mul(dim.factor, values[dim.symbol]); };
  for (std::size_t id = 1; id < expressions_.size();
       ++id) {  // operands precede: one pass is enough
    const auto& [kind, left, right] = expressions_[id];
    switch (kind) {
      case Kind::one: break;
      case Kind::parameter: {
        const Parameter& parameter = parameters_[static_cast<std::size_t>(left.factor)];
        const auto bound = binding.find(parameter.name);
        if (bound != binding.end()) {
          values[id] = bound->second;
        } else if (parameter.default_value) {
          values[id] = *parameter.default_value;
        } else {
          fail(ErrorKind::usage, "dimension '{0}' has no value; give one with --dim {0}=N",
               parameter.name);
        }
        break;
      }
      case Kind::sum: values[id] = checked_add(value_of(left), value_of(right)); break;
      case Kind::product: values[id] = checked_mul(value_of(left), value_of(right)); break;
      case Kind::floor_quotient:
        refuse_zero(value_of(right));
        values[id] = floor_quotient(value_of(left), value_of(right));
        break;
      case Kind::ceil_quotient:
        refuse_zero(value_of(right));
        values[id] = ceil_quotient(value_of(left), value_of(right));
        break;
      case Kind::maximum: values[id] = std::max(value_of(left), value_of(right)); break;
      case Kind::minimum: values[id] = std::min(value_of(left), value_of(right)); break;
    }
  }
  return values;
}

namespace {
constexpr std::string_view left_out = "…";
}

std::optional<std::int64_t> Symbols::limit(Dim dim, Dim of) const {
  const Expression& expression = expressions_[dim.symbol];
  if (dim.factor != 1 || expression.kind != Kind::minimum) return std::nullopt;
  if (expression.left == of && expression.right.is_number()) return expression.right.factor;
  if (expression.right == of && expression.left.is_number()) return expression.left.factor;
  return std::nullopt;
}

std::string Symbols::text(Dim dim) const {
  std::size_t parts = 1000;
  return text(dim, 8, parts);
}

std::optional<std::string> Symbols::whole_text(Dim dim, std::size_t longest) const {
  constexpr int deepest = 200;
  std::size_t parts = longest;  // each has a character at least
  std::string whole = text(dim, deepest, parts);
  if (whole.size() > longest || whole.find(left_out) != std::string::npos) return std::nullopt;
  return whole;
}

// Depth bounds the recursion, parts the length: expressions share parts, and a hostile file can
// nest them without end.
std::string Symbols::text(Dim dim, int depth, std::size_t& parts) const {
  if (dim.is_number()) return fmt::format("{}", dim.factor);
  if (depth == 0 || parts == 0) return std::string(left_out);
  --parts;
  const auto& [kind, left, right] = expressions_[dim.symbol];
  if (dim.factor != 1) {
    const std::string symbol = text(Dim(1, dim.symbol), depth - 1, parts);
    const bool is_compound = kind == Kind::sum || kind == Kind::floor_quotient;
    return is_compound ? fmt::format("{}·({})", dim.factor, symbol)
                       : fmt::format("{}·{}", dim.factor, symbol);
  }
  const auto inner = [&](Dim part) { return text(part, depth - 1, parts); };
  const auto grouped = [&](Dim part) {
    const bool is_atom =
        part.is_number() || (part.factor == 1 && expressions_[part.symbol].kind == Kind::parameter);
    return is_atom ? inner(part) : fmt::format("({})", inner(part));
  };
  switch (kind) {
    case Kind::one: return "1";
    case Kind::parameter: return parameters_[static_cast<std::size_t>(left.factor)].name;
    case Kind::sum: {
      // Without parentheses it would be read as another sum, (left + a) + b.
      const bool is_sum = right.factor == 1 && expressions_[right.symbol].kind == Kind::sum;
      const std::string added = is_sum ? grouped(right) : inner(right);
      if (added.front() == '-') return fmt::format("{} - {}", inner(left), added.substr(1));
      return fmt::format("{} + {}", inner(left), added);
    }
    case Kind::product: return fmt::format("{}·{}", grouped(left), grouped(right));
    case Kind::floor_quotient: return fmt::format("{}/{}", grouped(left), grouped(right));
    case Kind::ceil_quotient: return fmt::format("ceil({}/{})", grouped(left), grouped(right));
    case Kind::maximum: return fmt::format("max({}, {})", inner(left), inner(right));
    case Kind::minimum: return fmt::format("min({}, {})", inner(left), inner(right));
  }
  return {};
}

Dim Symbols::intern(Kind kind, Dim left, Dim right) {
  const Expression expression{kind, left, right};
  const auto [place, is_new] =
      ids_.try_emplace(expression, static_cast<SymbolId>(expressions_.size()));
  if (is_new) {
    if (expressions_.size() >= most_symbols) {
      fail(ErrorKind::input, "more than {} symbolic dimensions", most_symbols);
    }
    expressions_.push_back(expression);
  }
  return {1, place->second};
}

std::size_t Symbols::ExpressionHash::operator()(const Expression& expression) const noexcept {
  std::size_t hash = static_cast<std::size_t>(expression.kind);
  for (const Dim dim : {expression.left, expression.right}) {
    hash = (hash ^ static_cast<std::size_t>(dim.factor)) * 0x9E3779B97F4A7C15ULL;
    hash = (hash ^ dim.symbol) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace strata
