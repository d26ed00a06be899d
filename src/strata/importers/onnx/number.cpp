// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/number.hpp"

#include <cmath>
#include <limits>

namespace strata::onnx {
namespace {

constexpr double largest_exact = 9007199254740992.0;  // 2^53: beyond, not every whole number is one

// Symbols stand for sizes, so their positive multiples are at least 1.
bool is_size(Number number) { return !number.is_plain() && number.whole().factor > 0; }

template <class OfWhole, class OfReal>
MaybeNumber combine(Number a, Number b, OfWhole&& of_whole, OfReal&& of_real) {
  if (!a.is_real() && !b.is_real()) return Number(of_whole(a.whole(), b.whole()));
  if (!a.is_plain() || !b.is_plain()) return std::nullopt;
  return Number::real(of_real(a.value(), b.value()));
}

}  // namespace

Number Number::real(double value) {
  if (std::trunc(value) == value && std::abs(value) <= largest_exact) {
    return Dim(static_cast<std::int64_t>(value));
  }
  Number number;
  number.bits_ = std::bit_cast<std::int64_t>(value);
  number.symbol_ = real_mark;
  return number;
}

MaybeNumber sum(Number a, Number b, Symbols& symbols) {
  return combine(
      a, b, [&](Dim x, Dim y) { return symbols.add(x, y); },
      [](double x, double y) { return x + y; });
}

MaybeNumber difference(Number a, Number b, Symbols& symbols) {
  return combine(
      a, b, [&](Dim x, Dim y) { return symbols.subtract(x, y); },
      [](double x, double y) { return x - y; });
}

MaybeNumber product(Number a, Number b, Symbols& symbols) {
  return combine(
      a, b, [&](Dim x, Dim y) { return symbols.multiply(x, y); },
      [](double x, double y) { return x * y; });
}

MaybeNumber quotient(Number a, Number b, bool whole, Symbols& symbols) {
  if (b.is(0)) return std::nullopt;
  if (a.is_plain() && b.is_plain()) {
    if (!whole) return Number::real(a.value() / b.value());
    if (a.is_real() || b.is_real()) return std::nullopt;
    const std::int64_t dividend = a.whole().factor;
    const std::int64_t divisor = b.whole().factor;
    if (dividend == std::numeric_limits<std::int64_t>::min() && divisor == -1) return std::nullopt;
    return Number(Dim(dividend / divisor));
  }
  if (a.is_real() || b.is_real()) return std::nullopt;
  const Dim x = a.whole();
  const Dim y = b.whole();
  if (y.is(1)) return a;
  if (y.is_number() && y.factor > 0 && x.factor % y.factor == 0) {
    return Number(Dim(x.factor / y.factor, x.symbol));
  }
  const std::optional<Dim> exact = symbols.divide_exactly(x, y);
  if (exact && symbols.multiply(*exact, y) == x) return Number(*exact);
  // A size divided by a size rounds down, which is towards zero.
  if (!whole || x.factor < 0 || y.factor < 0) return std::nullopt;
  return Number(symbols.divide_floor(x, y));
}

MaybeNumber remainder(Number a, Number b, Symbols& symbols) {
  if (a.is_real() || b.is_real()) return std::nullopt;
  const Dim x = a.whole();
  const Dim y = b.whole();
  if (y.factor <= 0 || x.factor < 0) return std::nullopt;
  if (x.is_number() && y.is_number()) return Number(Dim(x.factor % y.factor));
  if (x.symbol == y.symbol && x.factor % y.factor == 0) return Number(Dim(0));
  return Number(symbols.subtract(x, symbols.multiply(symbols.divide_floor(x, y), y)));
}

MaybeNumber power(Number a, Number b) {
  if (!a.is_plain() || !b.is_plain()) return std::nullopt;
  return Number::real(std::pow(a.value(), b.value()));
}

MaybeNumber larger(Number a, Number b, Symbols& symbols) {
  return combine(
      a, b, [&](Dim x, Dim y) { return symbols.maximum(x, y); },
      [](double x, double y) { return std::fmax(x, y); });
}

MaybeNumber smaller(Number a, Number b, Symbols& symbols) {
  return combine(
      a, b, [&](Dim x, Dim y) { return symbols.minimum(x, y); },
      [](double x, double y) { return std::fmin(x, y); });
}

std::optional<bool> are_equal(Number a, Number b) {
  if (a.is_plain() && b.is_plain()) return a.value() == b.value();
  if (a == b) return true;
  if (is_size(a) && b.is_plain() && b.value() <= 0) return false;
  if (is_size(b) && a.is_plain() && a.value() <= 0) return false;
  return std::nullopt;
}

std::optional<bool> is_less(Number a, Number b) {
  if (a.is_plain() && b.is_plain()) return a.value() < b.value();
  if (a == b) return false;
  if (is_size(a) && b.is_plain() && b.value() <= 1) return false;
  if (is_size(b) && a.is_plain() && a.value() <= 0) return true;
  return std::nullopt;
}

}  // namespace strata::onnx
