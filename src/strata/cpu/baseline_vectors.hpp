// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The vector instructions that the compiler may use for every CPU of this build.
namespace strata::cpu {

#if defined(__AVX512F__)
inline constexpr int baseline_vector_bits = 512;
#elif defined(__AVX__)
inline constexpr int baseline_vector_bits = 256;
#elif defined(__SSE2__) || defined(__aarch64__)
inline constexpr int baseline_vector_bits = 128;
#else
inline constexpr int baseline_vector_bits = 64;
#endif

}  // namespace strata::cpu
