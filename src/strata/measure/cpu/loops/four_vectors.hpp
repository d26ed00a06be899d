// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// For functions that are inlined into loops which are compiled for several vector units: they must
/// be inlined whatever the compiler thinks of it.
#define STRATA_INLINE inline __attribute__((always_inline))

namespace strata::cpu_training {

/// Four vectors of 16 bytes (of gcc's own kind) with numbers of four that go through a computation
/// together, step by step. A core holds only so many operations that wait for the one before them:
/// of one vector after the other, those fill the queue before there is something to do for every
/// vector pipe.
template <class Number>
struct Four {
  using Element = Number;
  using V __attribute__((vector_size(16))) = Element;
  using Condition = Four<std::int32_t>;
  V a{}, b{}, c{}, d{};

  Four() = default;
  STRATA_INLINE Four(V first, V second, V third, V fourth)
      : a(first), b(second), c(third), d(fourth) {}
  /// The same number everywhere.
  // NOLINTNEXTLINE(google-explicit-constructor): formulas have numbers in them
  STRATA_INLINE Four(Element all) : Four(all - V{}, all - V{}, all - V{}, all - V{}) {}

  friend STRATA_INLINE Four operator+(Four x, Four y) {
    return {x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d};
  }
  friend STRATA_INLINE Four operator-(Four x, Four y) {
    return {x.a - y.a, x.b - y.b, x.c - y.c, x.d - y.d};
  }
  friend STRATA_INLINE Four operator*(Four x, Four y) {
    return {x.a * y.a, x.b * y.b, x.c * y.c, x.d * y.d};
  }
  friend STRATA_INLINE Four operator/(Four x, Four y) {
    return {x.a / y.a, x.b / y.b, x.c / y.c, x.d / y.d};
  }
  friend STRATA_INLINE Four operator-(Four x) { return {-x.a, -x.b, -x.c, -x.d}; }
  friend STRATA_INLINE Four operator&(Four x, Four y) {
    return {x.a & y.a, x.b & y.b, x.c & y.c, x.d & y.d};
  }
  friend STRATA_INLINE Four operator^(Four x, Four y) {
    return {x.a ^ y.a, x.b ^ y.b, x.c ^ y.c, x.d ^ y.d};
  }
  friend STRATA_INLINE Four operator<<(Four x, Element bits) {
    return {x.a << bits, x.b << bits, x.c << bits, x.d << bits};
  }
  friend STRATA_INLINE Four operator>>(Four x, Element bits) {
    return {x.a >> bits, x.b >> bits, x.c >> bits, x.d >> bits};
  }
  STRATA_INLINE Four& operator+=(Four other) { return *this = *this + other; }
  STRATA_INLINE Four& operator-=(Four other) { return *this = *this - other; }
  STRATA_INLINE Four& operator*=(Four other) { return *this = *this * other; }

  friend STRATA_INLINE Condition operator>(Four x, Four y) {
    return {x.a > y.a, x.b > y.b, x.c > y.c, x.d > y.d};
  }
  friend STRATA_INLINE Condition operator<(Four x, Four y) {
    return {x.a < y.a, x.b < y.b, x.c < y.c, x.d < y.d};
  }
  friend STRATA_INLINE Condition operator>=(Four x, Four y) {
    return {x.a >= y.a, x.b >= y.b, x.c >= y.c, x.d >= y.d};
  }
  friend STRATA_INLINE Condition operator<=(Four x, Four y) {
    return {x.a <= y.a, x.b <= y.b, x.c <= y.c, x.d <= y.d};
  }
  friend STRATA_INLINE Condition operator==(Four x, Four y) {
    return {x.a == y.a, x.b == y.b, x.c == y.c, x.d == y.d};
  }
};

template <class V>
inline constexpr bool is_four = false;
template <class Number>
inline constexpr bool is_four<Four<Number>> = true;

/// change(vector) of each.
template <class To, class Number, class Change>
STRATA_INLINE To each_of(const Four<Number>& x, Change change) {
  return {change(x.a), change(x.b), change(x.c), change(x.d)};
}

}  // namespace strata::cpu_training
