// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"

#include <cstdint>
#include <span>

/// Synthetic weights, inputs and targets: weights as training initializes them, inputs and targets
/// that the operators accept. A number depends on the seed and its index alone, not on the device
/// or the number of cores.
namespace strata {

/// How a tensor is filled.
struct Initializer {
  enum class Kind : std::uint8_t {
    constant,  ///< low
    uniform,   ///< [low, high)
    whole,     ///< whole numbers from low, below high
    cosine,    ///< of position × frequency, for a rotary embedding's table [T, pairs]
    sine,
  };
  Kind kind = Kind::constant;
  double low = 0;
  double high = 0;
};

/// By what reads the tensor: weights after He et al. ("Delving Deep into Rectifiers", 2015),
/// uniform with variance 2/fan-in; scales 1, shifts and biases 0, running variances 1; whole-number
/// inputs below the size of the table or the number of classes that they choose from.
Initializer initializer_of(const BoundGraph& bound, TensorId tensor);

/// For results that no kernel computes here, so that what follows has numbers to work on.
Initializer stand_in_initializer(const BoundTensor& tensor);

/// For the gradient of an output that has no loss: 1 for a single number.
Initializer given_gradient_initializer(const BoundTensor& tensor);

/// Elements begin, begin + 1, … of the tensor.
void fill(std::span<double> numbers, std::int64_t begin, const Initializer& initializer,
          const BoundTensor& shape, std::uint64_t key);

/// Of one thing of one run: a tensor, a gradient.
std::uint64_t fill_key(std::uint64_t seed, std::uint64_t thing);

}  // namespace strata
