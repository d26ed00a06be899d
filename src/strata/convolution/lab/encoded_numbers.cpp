// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/encoded_numbers.hpp"

#include "strata/base/error.hpp"
#include "strata/convolution/lab/on_all_cores.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace strata {
namespace {

constexpr std::int64_t worth_a_thread = 1 << 18;

// A number for each index without a state, so that threads need not agree (Steele, Lea and Flood,
// "Fast Splittable Pseudorandom Number Generators", 2014: splitmix64).
std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

float rounded_to(float value, DType dtype) {
  if (dtype == DType::fp16) return from_fp16(to_fp16(value));
  if (dtype == DType::bf16) return from_bf16(to_bf16(value));
  return value;
}

/// `bits` without its last `count`, rounded to the nearest, halves to even.
std::uint32_t shifted_right(std::uint32_t bits, unsigned count) {
  const std::uint32_t half = 1U << (count - 1);
  const std::uint32_t rest = bits & ((1U << count) - 1);
  const std::uint32_t kept = bits >> count;
  return kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1U : 0U);
}

}  // namespace

bool is_conv_dtype(DType dtype) {
  return dtype == DType::fp32 || dtype == DType::tf32 || dtype == DType::fp16 ||
         dtype == DType::bf16;
}

std::uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000U) {
    half = 0x7e00U;                       // not a number
  } else if (magnitude >= 0x477ff000U) {  // rounds beyond 65504
    half = 0x7c00U;
  } else if (magnitude >= 0x38800000U) {  // at least 2^-14: rebias the exponent from 127 to 15
    half = shifted_right(magnitude - (112U << 23), 13);
  } else if (magnitude >= 0x33000000U) {  // subnormal: the leading 1 becomes explicit
    const std::uint32_t exponent = magnitude >> 23;
    half = shifted_right((magnitude & 0x7fffffU) | 0x800000U, 126 - exponent);
  }
  return static_cast<std::uint16_t>(sign | half);
}

float from_fp16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int fraction = bits & 0x3ff;
  float magnitude = 0;
  if (exponent == 31) {
    magnitude = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction | 0x400), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>(shifted_right(bits, 16));
}

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::vector<float> random_numbers(std::int64_t count, DType dtype, std::uint64_t seed) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  on_all_cores(count, worth_a_thread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t random = mixed(mixed(seed) + static_cast<std::uint64_t>(i));
      const float unit = static_cast<float>(random >> 40) * 0x1p-23F;  // [0, 2)
      numbers[static_cast<std::size_t>(i)] = rounded_to(unit - 1, dtype);
    }
  });
  return numbers;
}

std::vector<std::byte> encoded(std::span<const float> numbers, DType dtype) {
  STRATA_CHECK(is_conv_dtype(dtype), "a type of convolutions");
  const auto width = static_cast<std::size_t>(bytes_per_element(dtype));
  std::vector<std::byte> bytes(numbers.size() * width);
  if (width == sizeof(float)) {
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint16_t bits = dtype == DType::fp16 ? to_fp16(numbers[i]) : to_bf16(numbers[i]);
    std::memcpy(bytes.data() + i * width, &bits, sizeof bits);
  }
  return bytes;
}

std::vector<float> decoded(std::span<const std::byte> bytes, DType dtype) {
  STRATA_CHECK(is_conv_dtype(dtype), "a type of convolutions");
  const auto width = static_cast<std::size_t>(bytes_per_element(dtype));
  std::vector<float> numbers(bytes.size() / width);
  if (width == sizeof(float)) {
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * width);
    return numbers;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * width, sizeof bits);
    numbers[i] = dtype == DType::fp16 ? from_fp16(bits) : from_bf16(bits);
  }
  return numbers;
}

}  // namespace strata
