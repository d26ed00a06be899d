// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Numbers on their way to a device and back, in the data type that the device computes with.
namespace strata {

/// Types that a convolution may be asked for in.
bool is_conv_dtype(DType dtype);

/// The 16 bits of the nearest number, halves to even (IEEE 754); and back.
std::uint16_t to_fp16(float value);
float from_fp16(std::uint16_t bits);
std::uint16_t to_bf16(float value);
float from_bf16(std::uint16_t bits);

/// Pseudo-random numbers in [−1, 1) that the type can hold: the same for the same seed, whatever
/// the number of cores.
std::vector<float> random_numbers(std::int64_t count, DType dtype, std::uint64_t seed);

/// As they lie in memory.
std::vector<std::byte> encoded(std::span<const float> numbers, DType dtype);
std::vector<float> decoded(std::span<const std::byte> bytes, DType dtype);

}  // namespace strata
