// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/shape.hpp"

/// The forward pass and, at stride 1, the input's gradient are one computation: a source is
/// correlated with kernels. For the gradient the source is the output's gradient, filters and
/// channels change places and every kernel is turned by half a turn.
namespace strata::cpu {

struct Correlation {
  std::int64_t batch = 1;
  std::int64_t groups = 1;
  std::int64_t source_channels = 1;  ///< of one group
  std::int64_t result_channels = 1;  ///< of one group
  std::int64_t source_height = 1;
  std::int64_t source_width = 1;
  std::int64_t result_height = 1;
  std::int64_t result_width = 1;
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  std::int64_t dilation_height = 1;
  std::int64_t dilation_width = 1;
  std::int64_t zeros_above = 0;  ///< negative: so many rows of the source are not looked at
  std::int64_t zeros_left = 0;
  std::int64_t weights_per_group = 1;
  std::int64_t weight_step_result = 1;  ///< from one result channel to the next
  std::int64_t weight_step_source = 1;
  bool is_turned = false;

  /// Where in the weights the factor of source pixel y + ky·dilation, x + kx·dilation is.
  std::int64_t weight_index(std::int64_t group, std::int64_t result, std::int64_t source,
                            std::int64_t ky, std::int64_t kx) const {
    const std::int64_t tap = ky * kernel_width + kx;
    return group * weights_per_group + result * weight_step_result + source * weight_step_source +
           (is_turned ? kernel_height * kernel_width - 1 - tap : tap);
  }
};

/// Of a pass other than the weights' gradient, at stride 1.
Correlation correlation_of(const ConvShape& shape, ConvPass pass);

}  // namespace strata::cpu
