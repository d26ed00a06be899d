// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The kinds that operators come in. Apart from the operators, so that device code, whose compiler
/// cannot read all that they include, knows them too.
namespace strata {

enum class CellKind : std::uint8_t { rnn_tanh, rnn_relu, lstm, gru };

enum class PoolKind : std::uint8_t { maximum, average };

enum class UnaryKind : std::uint8_t {
  relu,
  relu6,
  leaky_relu,
  prelu,
  elu,
  selu,
  gelu,
  gelu_tanh,
  silu,
  hard_swish,
  hard_sigmoid,
  sigmoid,
  tanh,
  mish,
  softplus,
  softsign,
  clip,
  identity,
  negate,
  absolute,
  square,
  square_root,
  reciprocal,
  exponential,
  logarithm,
  error_function,
  sine,
  cosine,
  floor,
  ceiling,
  round,
  sign,
  logical_not,
};

enum class ElementwiseKind : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  power,
  maximum,
  minimum,
  mean,
  modulo,
  equal,
  greater,
  less,
  logical_and,
  logical_or,
  select,
};

enum class ReduceKind : std::uint8_t { sum, mean, maximum, minimum, product, l2 };

enum class ResizeKind : std::uint8_t { nearest, linear, cubic };

}  // namespace strata
