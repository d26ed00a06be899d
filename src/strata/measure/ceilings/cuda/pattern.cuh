// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/// Random data from an index, the same on host and device: any element can be checked alone. For
/// nvcc only.
namespace strata::cuda {

/// Spreads every bit of the index over the word: two rounds, because after one neighbours are still
/// so alike that sums of their products grow like n instead of √n.
__host__ __device__ inline std::uint32_t hashed(std::uint64_t index, std::uint32_t seed) {
  auto word = static_cast<std::uint32_t>(index) + 0x9E3779B9u * (seed + 1) +
              0x7FEB352Du * static_cast<std::uint32_t>(index >> 32);
  word ^= word >> 16;
  word *= 0x7FEB352Du;
  word ^= word >> 15;
  word *= 0x846CA68Bu;
  word ^= word >> 16;
  return word;
}

/// A float between 1 and 2 with 23 random bits.
__host__ __device__ inline std::uint32_t float_bits(std::uint32_t word) {
  return 0x3F800000u | (word >> 9);
}

__host__ __device__ inline uint4 pattern_item(std::uint64_t index, std::uint32_t seed) {
  const std::uint32_t word = hashed(index, seed);
  return {float_bits(word), float_bits(word * 0x85EBCA6Bu), float_bits(~word),
          float_bits(word ^ 0x5BD1E995u)};
}

}  // namespace strata::cuda
