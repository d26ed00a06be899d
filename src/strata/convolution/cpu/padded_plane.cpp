// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/padded_plane.hpp"

#include "strata/convolution/cpu/sizes.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

/// One axis of a convolution: sizes of input, output and kernel.
struct ConvAxis {
  std::int64_t input, output, kernel, stride, pad, dilation;
};

PaddedAxis forward_axis(const ConvAxis& a) {
  PaddedAxis axis{.size = a.input,
                  .zeros = a.pad,
                  .padded = (a.output - 1) * a.stride + (a.kernel - 1) * a.dilation + 1};
  AxisPhase all{.count = a.output, .source_step = a.stride};
  for (std::int64_t k = 0; k < a.kernel; ++k) all.seen.push_back({k, k * a.dilation});
  axis.phases.push_back(std::move(all));
  return axis;
}

/// Input position i meets output position o through kernel position k where
/// o·stride + k·dilation = i + pad.
PaddedAxis input_gradient_axis(const ConvAxis& a) {
  PaddedAxis axis{.size = a.output};
  const std::int64_t reach = (a.kernel - 1) * a.dilation - a.pad;
  axis.zeros = reach > 0 ? divide_up(reach, a.stride) : 0;
  axis.padded = axis.zeros + (a.input - 1 + a.pad) / a.stride + 1;
  for (std::int64_t first = 0; first < std::min(a.stride, a.input); ++first) {
    AxisPhase phase{
        .first = first, .step = a.stride, .count = divide_up(a.input - first, a.stride)};
    for (std::int64_t k = 0; k < a.kernel; ++k) {
      const std::int64_t distance = first + a.pad - k * a.dilation;
      if (distance % a.stride == 0) phase.seen.push_back({k, distance / a.stride + axis.zeros});
    }
    axis.phases.push_back(std::move(phase));
  }
  return axis;
}

}  // namespace

PaddedPlane padded_plane(const ConvShape& s, ConvPass pass) {
  const ConvAxis rows{s.height,        s.output_height(), s.kernel_height,
                      s.stride_height, s.pad_height,      s.dilation_height};
  const ConvAxis columns{s.width,        s.output_width(), s.kernel_width,
                         s.stride_width, s.pad_width,      s.dilation_width};
  if (pass == ConvPass::input_gradient) {
    return {input_gradient_axis(rows), input_gradient_axis(columns)};
  }
  return {forward_axis(rows), forward_axis(columns)};
}

void copy_padded(const PaddedPlane& plane, const float* source, float* to) {
  const PaddedAxis& columns = plane.columns;
  const std::int64_t begin = std::min(columns.zeros, columns.padded);
  const std::int64_t copied = std::min(columns.size, columns.padded - begin);
  for (std::int64_t y = 0; y < plane.rows.padded; ++y, to += columns.padded) {
    const std::int64_t row = y - plane.rows.zeros;
    if (row < 0 || row >= plane.rows.size) {
      std::fill_n(to, columns.padded, 0.0F);
      continue;
    }
    std::fill_n(to, begin, 0.0F);
    std::copy_n(source + row * columns.size, copied, to + begin);
    std::fill(to + begin + copied, to + columns.padded, 0.0F);
  }
}

}  // namespace strata::cpu
