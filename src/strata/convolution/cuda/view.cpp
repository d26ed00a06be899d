// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cuda/view.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace strata::cuda {

ConvView forward_view(const ConvShape& shape) {
  const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
  ConvView view;
  view.batch = narrow(shape.batch);
  view.in_channels = narrow(shape.channels);
  view.in_height = narrow(shape.height);
  view.in_width = narrow(shape.width);
  view.out_channels = narrow(shape.filters);
  view.out_height = narrow(shape.output_height());
  view.out_width = narrow(shape.output_width());
  view.kernel_height = narrow(shape.kernel_height);
  view.kernel_width = narrow(shape.kernel_width);
  view.stride_height = narrow(shape.stride_height);
  view.stride_width = narrow(shape.stride_width);
  view.pad_height = narrow(shape.pad_height);
  view.pad_width = narrow(shape.pad_width);
  view.dilation_height = narrow(shape.dilation_height);
  view.dilation_width = narrow(shape.dilation_width);
  view.groups = narrow(shape.groups);
  return view;
}

ConvView view_of(const ConvProblem& problem) {
  const ConvView forward = forward_view(problem.shape);
  if (problem.pass != ConvPass::input_gradient) return forward;
  ConvView view = forward;
  std::swap(view.in_channels, view.out_channels);
  std::swap(view.in_height, view.out_height);
  std::swap(view.in_width, view.out_width);
  std::swap(view.stride_height, view.gap_height);
  std::swap(view.stride_width, view.gap_width);
  view.pad_height = forward.extent_height() - 1 - forward.pad_height;
  view.pad_width = forward.extent_width() - 1 - forward.pad_width;
  return view;
}

std::optional<std::string> common_refusal(const ConvProblem& problem) {
  if (problem.dtype != DType::fp32) return fmt::format("fp32 only, not {}", name_of(problem.dtype));
  const ConvShape& shape = problem.shape;
  constexpr std::int64_t most = std::numeric_limits<int>::max() / 2;
  for (const std::int64_t elements :
       {shape.input_elements(), shape.weight_elements(), shape.output_elements()}) {
    if (elements > most) return "a tensor of more than 2³⁰ numbers";
  }
  if (std::max({shape.batch, shape.channels, shape.filters}) > 65535)
    return "a batch, channels or filters beyond 65535";
  for (const std::int64_t size :
       {shape.pad_height, shape.pad_width, shape.stride_height, shape.stride_width,
        shape.dilation_height, shape.dilation_width}) {
    if (size > 1 << 15) return "a padding, stride or dilation beyond 2¹⁵";
  }
  return std::nullopt;
}

std::int64_t terms_of(const ConvProblem& problem) {
  const ConvShape& shape = problem.shape;
  const std::int64_t window = shape.kernel_height * shape.kernel_width;
  switch (problem.pass) {
    case ConvPass::forward: return shape.channels / shape.groups * window;
    case ConvPass::input_gradient: return shape.filters / shape.groups * window;
    case ConvPass::weight_gradient:
      return shape.batch * shape.output_height() * shape.output_width();
  }
  return 1;
}

double rounding_tolerance(const ConvProblem& problem, double growth) {
  constexpr double unit = 6e-8;
  return growth * unit * (4 + std::sqrt(static_cast<double>(terms_of(problem))));
}

}  // namespace strata::cuda
