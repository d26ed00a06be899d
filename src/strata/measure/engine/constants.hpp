// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define STRATA_HOST_AND_DEVICE __host__ __device__
#else
#define STRATA_HOST_AND_DEVICE
#endif

/// Numbers that operators need and the graph does not hold, because no cost depends on them:
/// PyTorch's defaults (torch.nn, version 2), the same on every device so that results agree.
namespace strata::training_constants {

inline constexpr double leaky_relu_slope = 0.01;
inline constexpr double elu_alpha = 1.0;
inline constexpr double selu_alpha = 1.6732632423543772848170429916717;
inline constexpr double selu_lambda = 1.0507009873554804934193349852946;
inline constexpr double gelu_cubic = 0.044715;  ///< of gelu_tanh: tanh(√(2/π) (x + 0.044715 x³))
inline constexpr double clip_low = 0;           ///< as ReLU6, which most graphs spell it for
inline constexpr double clip_high = 6;

inline constexpr double batch_norm_epsilon = 1e-5;
inline constexpr double batch_norm_momentum = 0.1;  ///< running ← 0.9 running + 0.1 new
inline constexpr double layer_norm_epsilon = 1e-5;
inline constexpr double group_norm_epsilon = 1e-5;
inline constexpr double rms_norm_epsilon = 0x1p-23;  ///< the distance from 1 to the next float

/// x / (k + α/size Σ x²)^β
inline constexpr double local_response_alpha = 1e-4;
inline constexpr double local_response_beta = 0.75;
inline constexpr double local_response_k = 1;

inline constexpr double cubic_resize_a = -0.75;  ///< of Keys' cubic convolution

/// Whether dropout keeps an element: a function of the node and the element's place alone, so that
/// every device drops the same ones and every iteration does the same work. The mixing is
/// lowbias32 (Wellons, "Prospecting for hash functions", 2018), which passes statistical tests.
STRATA_HOST_AND_DEVICE constexpr std::uint32_t with_upper_half(std::uint32_t x) {
  return x ^ (x >> 16U);
}
STRATA_HOST_AND_DEVICE constexpr std::uint32_t first_product(std::uint32_t x) {
  return x * 0x21f0aaadU;
}
/// Of a number, or of several at once.
template <class Bits>
STRATA_HOST_AND_DEVICE constexpr Bits second_product(Bits first) {
  return (first ^ (first >> 15U)) * 0xd35a2d97U;
}
STRATA_HOST_AND_DEVICE constexpr std::uint32_t mixed_bits(std::uint32_t x) {
  x = second_product(first_product(with_upper_half(x)));
  return x ^ (x >> 15U);
}

/// Two elements so many places apart share a hash, because hashing takes as long as memory does:
/// the first goes by its lower half, the second by its upper one. The last step of mixed_bits,
/// which changes the lower bits of both, is left out.
inline constexpr std::uint32_t dropout_pair_distance = 16;

/// The number of an element's hash.
STRATA_HOST_AND_DEVICE constexpr std::uint64_t dropout_hash_number(std::uint64_t place) {
  return place / (std::uint64_t{2} * dropout_pair_distance) * dropout_pair_distance +
         place % dropout_pair_distance;
}

/// Of a node of the graph and the upper half of the hash's number; the lower half is added to it.
STRATA_HOST_AND_DEVICE constexpr std::uint32_t dropout_key(std::uint32_t node,
                                                           std::uint32_t number_high) {
  return mixed_bits(node * 0x9e3779b9U + mixed_bits(number_high + 1));
}

/// An element is kept when its half of the hash, in the upper 16 bits, is at least this: by
/// probabilities of whole 65536ths. 2³² (nothing is kept) does not fit 32 bits, so the comparison
/// is one of 64.
STRATA_HOST_AND_DEVICE constexpr std::uint64_t dropout_threshold(double probability) {
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): never negative, and GPUs compute it as well
  return static_cast<std::uint64_t>(probability * 65536.0 + 0.5) << 16U;
}

/// Of a key and the lower half of a hash's number.
STRATA_HOST_AND_DEVICE constexpr std::uint32_t dropout_hash(std::uint32_t key,
                                                            std::uint32_t number_low) {
  return second_product(first_product(with_upper_half(key ^ number_low)));
}
STRATA_HOST_AND_DEVICE constexpr std::uint32_t dropout_half(std::uint32_t hash,
                                                            std::uint64_t place) {
  return place / dropout_pair_distance % 2 == 0 ? hash << 16U : hash;
}

STRATA_HOST_AND_DEVICE constexpr bool dropout_keeps(std::uint32_t node, std::uint64_t place,
                                                    std::uint64_t threshold) {
  const std::uint64_t number = dropout_hash_number(place);
  const std::uint32_t key = dropout_key(node, static_cast<std::uint32_t>(number >> 32U));
  return dropout_half(dropout_hash(key, static_cast<std::uint32_t>(number)), place) >= threshold;
}

/// What is kept is multiplied by this.
STRATA_HOST_AND_DEVICE constexpr double dropout_scale(double probability) {
  return probability < 1 ? 1 / (1 - probability) : 0;
}

}  // namespace strata::training_constants
