// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

/// 64-bit arithmetic that refuses to wrap. Every count in Strata (elements, bytes, FLOP,
/// parameters) is exact or it is an error: sizes come from files and command lines of strangers.
namespace strata {

[[noreturn]] void fail_overflow();

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_add_overflow(a, b, &result)) fail_overflow();
  return result;
}

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) fail_overflow();
  return result;
}

template <class... More>
std::int64_t checked_mul(std::int64_t a, std::int64_t b, More... more) {
  return checked_mul(checked_mul(a, b), more...);
}

/// An exact count: a 64-bit integer whose + - and * are checked, so that formulas read as on paper.
class Count {
 public:
  constexpr Count() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a number is a count
  constexpr Count(std::int64_t value) : value_(value) {}
  constexpr std::int64_t value() const { return value_; }

  friend Count operator+(Count a, Count b) { return checked_add(a.value_, b.value_); }
  friend Count operator-(Count a, Count b) {
    return checked_add(a.value_, checked_mul(b.value_, -1));
  }
  friend Count operator*(Count a, Count b) { return checked_mul(a.value_, b.value_); }
  Count& operator+=(Count b) { return *this = *this + b; }
  Count& operator*=(Count b) { return *this = *this * b; }
  friend constexpr auto operator<=>(Count, Count) = default;

 private:
  std::int64_t value_ = 0;
};

}  // namespace strata
