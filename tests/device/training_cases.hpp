// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/builder.hpp"

#include <string>
#include <vector>

namespace strata::test {

/// What one input of an operator is.
struct CaseInput {
  std::vector<std::int64_t> shape;
  double low = -1, high = 1;
  DType dtype = DType::fp32;       ///< other than fp32: an index or a condition without a gradient
  std::int64_t indices_below = 0;  ///< whole numbers below it
  bool has_gradient = true;        ///< of fp32; false: it is given, as a mask of padding is
};

/// One operator on small tensors of odd sizes.
struct TrainingCase {
  std::string name;
  Operator op;
  std::vector<CaseInput> inputs;
  /// Weights and biases. Of both signs: gates that are all driven one way would saturate, and their
  /// gradients vanish.
  double own_low = -0.5, own_high = 0.7;
};

/// Every operator in every variant, with the shapes that tend to go wrong.
std::vector<TrainingCase> training_cases();
/// More shapes of what memory limits, for kernels that move several numbers at once, cut arrays
/// into tiles or walk along rows: whole packs and tiles, their ends, long and short rows.
std::vector<TrainingCase> summing_cases();
std::vector<TrainingCase> moving_cases();
std::vector<TrainingCase> row_cases();
std::vector<TrainingCase> pointwise_cases();
/// Attention in more shapes: lengths and widths of all kinds, what is seen and what is not.
std::vector<TrainingCase> attention_cases();

}  // namespace strata::test
