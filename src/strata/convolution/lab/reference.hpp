// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/shape.hpp"

#include <span>
#include <vector>

/// The defining sums in double precision, one result at a time: slow, and plainly right.
namespace strata {

/// Tensors of a convolution on the host. The one that the pass computes is not read.
struct ConvData {
  std::span<const float> input;
  std::span<const float> weights;
  std::span<const float> output;  ///< or its gradient
};

/// One number of what the pass computes: of the output, of the input's gradient or of the weights'
/// gradient; `index` as it is stored.
double reference_element(const ConvShape& shape, ConvPass pass, const ConvData& data,
                         std::int64_t index);

/// All of it.
std::vector<double> reference_result(const ConvShape& shape, ConvPass pass, const ConvData& data);

/// How many numbers the pass computes.
std::int64_t result_elements(const ConvShape& shape, ConvPass pass);

/// ‖result − expected‖ / ‖expected‖; the norm of the result where nothing is expected. Not finite:
/// something in the result is not.
double relative_error(std::span<const float> result, std::span<const double> expected);

}  // namespace strata
