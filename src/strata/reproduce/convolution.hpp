// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/result.hpp"
#include "strata/reproduce/analytical.hpp"

#include <vector>

namespace strata {

/// What "Performance Analysis of GPU-based Convolutional Neural Networks" (2016) saw on a Tesla
/// K40c, beside stored results of `strata conv --suite paper` (or `cpu`), forward pass. What the
/// results do not hold is a finding that says so.
std::vector<Finding> reproduce_convolution(const ConvResults& results);

}  // namespace strata
