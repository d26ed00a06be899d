// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/unroll_rows.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

/// Calls visit(place in the row of the block, input row or nothing, input column, how many, before,
/// after) for every stretch of output pixels that lie in one output row: `how many` of them see
/// input columns column, column + stride, …; `before` and `after` them see padding.
template <class Visit>
void visit_stretches(const ConvShape& s, const UnrolledBlock& which, std::int64_t row,
                     const Visit& visit) {
  const std::int64_t kx = row % s.kernel_width;
  const std::int64_t ky = row / s.kernel_width % s.kernel_height;
  const std::int64_t width = s.output_width();
  const std::int64_t shift_x = kx * s.dilation_width - s.pad_width;
  // Output columns whose input column is inside the image.
  const std::int64_t inside_begin =
      shift_x >= 0 ? 0 : (-shift_x + s.stride_width - 1) / s.stride_width;
  const std::int64_t inside_end =
      shift_x >= s.width ? 0 : (s.width - shift_x + s.stride_width - 1) / s.stride_width;
  std::int64_t y = which.first_pixel / width;
  std::int64_t x = which.first_pixel % width;
  for (std::int64_t place = 0; place < which.pixels; ++y, x = 0) {
    const std::int64_t end = std::min(width, x + which.pixels - place);
    const std::int64_t input_y = y * s.stride_height - s.pad_height + ky * s.dilation_height;
    const bool is_inside = input_y >= 0 && input_y < s.height;
    const std::int64_t begin = is_inside ? std::clamp(inside_begin, x, end) : end;
    const std::int64_t stop = is_inside ? std::clamp(inside_end, begin, end) : end;
    visit(place, input_y, begin * s.stride_width + shift_x, stop - begin, begin - x, end - stop);
    place += end - x;
  }
}

}  // namespace

void unroll(const ConvShape& s, const float* image, const UnrolledBlock& which, float* block,
            std::int64_t step) {
  const std::int64_t taps = s.kernel_height * s.kernel_width;
  for (std::int64_t r = 0; r < which.rows; ++r) {
    const std::int64_t row = which.first_row + r;
    const float* const plane = image + row / taps * s.height * s.width;
    float* const to_row = block + r * step;
    visit_stretches(s, which, row,
                    [&](std::int64_t place, std::int64_t y, std::int64_t x, std::int64_t count,
                        std::int64_t before, std::int64_t after) {
                      float* to = std::fill_n(to_row + place, before, 0.0F);
                      const float* const from = plane + y * s.width + x;
                      if (count > 0 && s.stride_width == 1) {
                        to = std::copy_n(from, count, to);
                      } else {
                        for (std::int64_t i = 0; i < count; ++i) *to++ = from[i * s.stride_width];
                      }
                      std::fill_n(to, after, 0.0F);
                    });
  }
}

void roll_back(const ConvShape& s, const float* block, std::int64_t step,
               const UnrolledBlock& which, float* image) {
  const std::int64_t taps = s.kernel_height * s.kernel_width;
  for (std::int64_t r = 0; r < which.rows; ++r) {
    const std::int64_t row = which.first_row + r;
    float* const plane = image + row / taps * s.height * s.width;
    const float* const from_row = block + r * step;
    visit_stretches(s, which, row,
                    [&](std::int64_t place, std::int64_t y, std::int64_t x, std::int64_t count,
                        std::int64_t before, std::int64_t) {
                      const float* const from = from_row + place + before;
                      float* const to = plane + y * s.width + x;
                      if (s.stride_width == 1) {
                        for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
                      } else {
                        for (std::int64_t i = 0; i < count; ++i) to[i * s.stride_width] += from[i];
                      }
                    });
  }
}

}  // namespace strata::cpu
