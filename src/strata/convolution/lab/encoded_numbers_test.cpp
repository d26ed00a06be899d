// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/encoded_numbers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace strata {
namespace {

/// Every finite number of a 16-bit type is its own encoding, and what lies between two neighbours
/// goes to the nearer one, halves to the even one.
template <class To, class From>
void check_type(To to, From from) {
  for (std::uint32_t bits = 0; bits < 0x8000; ++bits) {
    const float value = from(static_cast<std::uint16_t>(bits));
    const float next = from(static_cast<std::uint16_t>(bits + 1));
    if (std::isnan(value) || std::isinf(value)) continue;
    ASSERT_EQ(to(value), bits);
    ASSERT_EQ(to(-value), bits | 0x8000U);
    if (!std::isfinite(next)) continue;
    const float half = value + (next - value) / 2;
    if (half == value || half == next) continue;  // the type is as fine as fp32 there
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(to(half), even) << value;
    ASSERT_EQ(to(std::nextafter(half, value)), bits);
    ASSERT_EQ(to(std::nextafter(half, next)), bits + 1);
  }
  EXPECT_TRUE(std::isnan(from(to(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(from(to(std::numeric_limits<float>::infinity())), INFINITY);
}

TEST(EncodedNumbers, round_to_the_nearest) {
  check_type(to_fp16, from_fp16);
  check_type(to_bf16, from_bf16);
  EXPECT_EQ(from_fp16(to_fp16(65519.0F)), 65504.0F);
  EXPECT_EQ(from_fp16(to_fp16(65520.0F)), INFINITY);
  EXPECT_EQ(to_fp16(0x1p-25F), 0);  // half of the least goes to the even 0
  EXPECT_EQ(to_fp16(0x1.8p-25F), 1);
}

TEST(EncodedNumbers, come_back_as_they_were) {
  for (const DType dtype : {DType::fp32, DType::tf32, DType::fp16, DType::bf16}) {
    const auto numbers = random_numbers(1000, dtype, 7);
    const auto bytes = encoded(numbers, dtype);
    EXPECT_EQ(bytes.size(), 1000U * static_cast<std::size_t>(bytes_per_element(dtype)));
    EXPECT_EQ(decoded(bytes, dtype), numbers);
  }
}

TEST(EncodedNumbers, random_numbers_follow_from_the_seed) {
  constexpr std::int64_t count = 1 << 20;  // more than one thread
  const auto numbers = random_numbers(count, DType::fp32, 1);
  EXPECT_EQ(random_numbers(count, DType::fp32, 1), numbers);
  EXPECT_NE(random_numbers(count, DType::fp32, 2), numbers);
  double sum = 0;
  double squares = 0;
  for (const float number : numbers) {
    ASSERT_GE(number, -1);
    ASSERT_LT(number, 1);
    sum += static_cast<double>(number);
    squares += static_cast<double>(number) * static_cast<double>(number);
  }
  EXPECT_NEAR(sum / count, 0, 0.005);
  EXPECT_NEAR(squares / count, 1.0 / 3, 0.005);
}

}  // namespace
}  // namespace strata
