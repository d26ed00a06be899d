// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/shape.hpp"

/// At stride 1 the forward pass and the gradient of the input are one computation: a source is
/// correlated with kernels. For the gradient the source is the gradient of the output, filters and
/// channels change places and every kernel is flipped. The gradient of the weights has the sizes of
/// the forward pass.
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
  bool is_flipped = false;
};

Correlation correlation_of(const ConvShape& shape, ConvPass pass);

}  // namespace strata::cpu
