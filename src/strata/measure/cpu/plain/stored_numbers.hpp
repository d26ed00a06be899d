// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/base/error.hpp"

#include <cmath>
#include <cstdint>
#include <type_traits>

/// Rows of numbers of any type that the CPU holds, read and written as another type.
namespace strata::cpu_training::plain {

template <class T>
constexpr DType dtype_of() {
  return sizeof(T) == 8 ? DType::fp64 : DType::fp32;
}

/// Calls f(Stored()) with the type in which numbers of that data type lie in memory; false for one
/// that the CPU does not hold.
template <class F>
bool with_stored(DType dtype, const F& f) {
  switch (dtype) {
    case DType::fp64: f(double{}); return true;
    case DType::fp32: f(float{}); return true;
    case DType::int64: f(std::int64_t{}); return true;
    case DType::int32: f(std::int32_t{}); return true;
    case DType::int8: f(std::int8_t{}); return true;
    case DType::boolean: f(bool{}); return true;
    default: return false;
  }
}

inline bool is_stored(DType dtype) {
  return with_stored(dtype, [](auto) {});
}

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else {
    return static_cast<To>(value);
  }
}

/// to[i] = from[i · step], `offset` elements after `from`.
template <class To>
void read_row(DType dtype, const void* from, std::int64_t offset, std::int64_t step,
              std::int64_t count, To* to) {
  const bool is_known = with_stored(dtype, [&](auto stored) {
    const auto* numbers = static_cast<const decltype(stored)*>(from) + offset;
    for (std::int64_t i = 0; i < count; ++i) to[i] = converted<To>(numbers[i * step]);
  });
  STRATA_CHECK(is_known, "a type that the CPU engine does not store");
}

template <class From>
void write_row(DType dtype, void* to, std::int64_t offset, std::int64_t count, const From* from) {
  const bool is_known = with_stored(dtype, [&](auto stored) {
    auto* numbers = static_cast<decltype(stored)*>(to) + offset;
    for (std::int64_t i = 0; i < count; ++i) numbers[i] = converted<decltype(stored)>(from[i]);
  });
  STRATA_CHECK(is_known, "a type that the CPU engine does not store");
}

inline std::int64_t whole_number(DType dtype, const void* numbers, std::int64_t place) {
  std::int64_t result = 0;
  read_row(dtype, numbers, place, 0, 1, &result);
  return result;
}

}  // namespace strata::cpu_training::plain
