// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/shape.hpp"

#include <optional>
#include <string>

/// Forward and the gradient of the input are the same sum: a correlation of some images with some
/// kernels. The kernels of our strategies compute that sum; a view says of what.
namespace strata::cuda {

/// out[b][o][y][x] = Σ in~[b][i][y × stride + ky × dilation − pad][…] × kernel[o][i][ky][kx], where
/// in~ is the images with `gap` − 1 zeros between their numbers, and zeros around. i goes over the
/// channels of o's group.
struct ConvView {
  int batch = 1;
  int in_channels = 1, in_height = 1, in_width = 1;
  int out_channels = 1, out_height = 1, out_width = 1;
  int kernel_height = 1, kernel_width = 1;
  int stride_height = 1, stride_width = 1;
  int gap_height = 1, gap_width = 1;
  int pad_height = 0, pad_width = 0;  ///< below 0 where the images are cut
  int dilation_height = 1, dilation_width = 1;
  int groups = 1;

#ifdef __CUDACC__
  __host__ __device__
#endif
      int
      extent_height() const {
    return (kernel_height - 1) * dilation_height + 1;
  }
#ifdef __CUDACC__
  __host__ __device__
#endif
      int
      extent_width() const {
    return (kernel_width - 1) * dilation_width + 1;
  }
};

/// The forward pass as it is.
ConvView forward_view(const ConvShape& shape);
/// The gradient of the input: of the output's gradient with the kernels flipped around and
/// transposed (flip_kernels). Those of the other passes: the forward view.
ConvView view_of(const ConvProblem& problem);

/// What all our kernels refuse: another type than fp32, tensors that 32-bit indices do not reach.
std::optional<std::string> common_refusal(const ConvProblem& problem);

/// Sums of `terms` products in fp32: the error that rounding alone may bring, with room.
double rounding_tolerance(const ConvProblem& problem, double growth);

/// How many products one result adds.
std::int64_t terms_of(const ConvProblem& problem);

}  // namespace strata::cuda
