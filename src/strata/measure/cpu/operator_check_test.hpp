// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/cost/naive_tensor_test.hpp"
#include "strata/graph/operators.hpp"

#include <functional>
#include <string_view>
#include <vector>

/// How the CPU's kernels are checked: an operator is put into a graph of its own with random
/// inputs; what it computes is compared with a loop over its definition, its gradients with finite
/// differences, and fp32 with fp64: by the plain loops and by the libraries.
namespace strata::training_test {

using naive::Index;
using naive::Random;

/// Numbers of any type as fp64; reading broadcasts.
struct Numbers {
  Index shape;
  std::vector<double> values;

  Numbers() = default;
  explicit Numbers(Index extents, double value = 0)
      : shape(std::move(extents)),
        values(static_cast<std::size_t>(naive::elements_of(shape)), value) {}
  double& operator()(const Index& at) { return values[naive::place_of(shape, at)]; }
  double operator()(const Index& at) const { return values[naive::place_of(shape, at)]; }
  std::int64_t operator[](std::size_t axis) const { return shape[axis]; }
};

struct Source {
  Index shape;
  DType dtype = DType::fp32;  ///< floating types become that of the check
  double low = -2, high = 2;
  std::int64_t below = 0;  ///< > 0: whole numbers 0 … below it
  bool wants_gradient = true;
  bool is_parameter = false;  ///< its gradient belongs to backward_weight
  bool is_distinct = false;   ///< values far from each other, where a maximum decides
};

struct Trial {
  Operator op;
  std::vector<Source> inputs;
  /// The outputs from the inputs, own tensors after the data.
  std::function<std::vector<Numbers>(const std::vector<Numbers>&)> loops;
  double own_low = -1, own_high = 1;  ///< values of own tensors
  /// So many times as much as usual a rounding changes results: that of a mean far from zero.
  double rounding = 1;
};

/// Runs all checks on one trial.
void check(const Trial& trial);

/// Runs `trials` random trials of every operator whose row in operator_checks() names this test;
/// make(prototype, random) draws one.
void check_family(std::string_view test, std::uint32_t trials,
                  const std::function<Trial(const Operator&, Random&)>& make);

}  // namespace strata::training_test
