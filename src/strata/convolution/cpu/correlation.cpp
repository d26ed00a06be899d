// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/correlation.hpp"

#include <utility>

namespace strata::cpu {

Correlation correlation_of(const ConvShape& shape, ConvPass pass) {
  const std::int64_t kernel_size = shape.kernel_height * shape.kernel_width;
  Correlation c{.batch = shape.batch,
                .groups = shape.groups,
                .source_channels = shape.channels / shape.groups,
                .result_channels = shape.filters / shape.groups,
                .source_height = shape.height,
                .source_width = shape.width,
                .result_height = shape.output_height(),
                .result_width = shape.output_width(),
                .kernel_height = shape.kernel_height,
                .kernel_width = shape.kernel_width,
                .dilation_height = shape.dilation_height,
                .dilation_width = shape.dilation_width,
                .zeros_above = shape.pad_height,
                .zeros_left = shape.pad_width};
  c.weight_step_source = kernel_size;
  c.weight_step_result = kernel_size * c.source_channels;
  c.weights_per_group = c.weight_step_result * c.result_channels;
  if (pass != ConvPass::input_gradient) return c;
  std::swap(c.source_channels, c.result_channels);
  std::swap(c.source_height, c.result_height);
  std::swap(c.source_width, c.result_width);
  std::swap(c.weight_step_source, c.weight_step_result);
  c.zeros_above = (c.kernel_height - 1) * c.dilation_height - shape.pad_height;
  c.zeros_left = (c.kernel_width - 1) * c.dilation_width - shape.pad_width;
  c.is_flipped = true;
  return c;
}

}  // namespace strata::cpu
