// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

/// A number that counts what is done with it. The definitions in ops/*_test.cpp are templates over
/// their number type: with Counted they give the cost that a formula must have, with double the
/// same loops are checked against finite differences, so that what was counted is truly the
/// operator and its gradient.
namespace strata::naive {

struct Tally {
  std::int64_t flop = 0;
  std::int64_t mac = 0;
};

inline Tally tally;  // of the loops now running

class Counted {
 public:
  Counted() = default;
  Counted(double value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  double value() const { return value_; }

  friend Counted operator+(Counted a, Counted b) { return counted(a.value_ + b.value_); }
  friend Counted operator-(Counted a, Counted b) { return counted(a.value_ - b.value_); }
  friend Counted operator*(Counted a, Counted b) { return counted(a.value_ * b.value_); }
  friend Counted operator/(Counted a, Counted b) { return counted(a.value_ / b.value_); }
  Counted& operator+=(Counted b) { return *this = *this + b; }
  Counted& operator-=(Counted b) { return *this = *this - b; }
  Counted& operator*=(Counted b) { return *this = *this * b; }
  friend Counted operator-(Counted a) { return {-a.value_}; }  // a change of sign is free

  friend bool operator<(Counted a, Counted b) { return ++tally.flop, a.value_ < b.value_; }
  friend bool operator>(Counted a, Counted b) { return ++tally.flop, a.value_ > b.value_; }
  friend bool operator>=(Counted a, Counted b) { return ++tally.flop, a.value_ >= b.value_; }
  friend bool operator==(Counted a, Counted b) { return ++tally.flop, a.value_ == b.value_; }

  static Counted counted(double value) {
    ++tally.flop;
    return {value};
  }

 private:
  double value_ = 0;
};

inline double plain(double x) { return x; }
inline double plain(Counted x) { return x.value(); }
template <class T>
std::int64_t whole(T x) {
  return std::llround(plain(x));
}

/// A function of one number, 1 FLOP a call.
template <class F>
struct Function {
  F f;
  double operator()(double x) const { return f(x); }
  Counted operator()(Counted x) const { return Counted::counted(f(x.value())); }
};
template <class F>
Function(F) -> Function<F>;

inline constexpr Function exp_of{[](double x) { return std::exp(x); }};
inline constexpr Function log_of{[](double x) { return std::log(x); }};
inline constexpr Function tanh_of{[](double x) { return std::tanh(x); }};
inline constexpr Function erf_of{[](double x) { return std::erf(x); }};
inline constexpr Function sqrt_of{[](double x) { return std::sqrt(x); }};
inline constexpr Function sin_of{[](double x) { return std::sin(x); }};
inline constexpr Function cos_of{[](double x) { return std::cos(x); }};
inline constexpr Function floor_of{[](double x) { return std::floor(x); }};
inline constexpr Function ceil_of{[](double x) { return std::ceil(x); }};
inline constexpr Function round_of{[](double x) { return std::nearbyint(x); }};
inline constexpr Function not_of{[](double x) { return x == 0 ? 1.0 : 0.0; }};

inline double pow_of(double a, double b) { return std::pow(a, b); }
inline Counted pow_of(Counted a, Counted b) {
  return Counted::counted(std::pow(a.value(), b.value()));
}
inline double remainder_of(double a, double b) { return a - b * std::floor(a / b); }
inline Counted remainder_of(Counted a, Counted b) {
  return Counted::counted(remainder_of(a.value(), b.value()));
}

template <class T>
T larger(T a, T b) {
  return a < b ? b : a;
}
template <class T>
T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T absolute(T x) {
  return T(std::fabs(plain(x)));  // free, like a change of sign
}
/// 1/(1 + exp(−x))
template <class T>
T logistic(T x) {
  return T(1) / (T(1) + exp_of(-x));
}

/// sum + a·b inside a convolution, a matrix product or a recurrent gate: what MACs count.
inline double multiply_add(double sum, double a, double b) { return sum + a * b; }
inline Counted multiply_add(Counted sum, Counted a, Counted b) {
  ++tally.mac;
  return sum + a * b;
}

}  // namespace strata::naive
