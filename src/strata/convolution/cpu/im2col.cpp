// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/im2col.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

/// Pixels of one output row as one row of the matrix sees them: `before` that see padding, `count`
/// that see input pixels `source`, source + stride, …, and `after` that see padding again.
struct PixelRun {
  std::int64_t place = 0;   ///< in the row of the block
  std::int64_t source = 0;  ///< in the channel
  std::int64_t before = 0, count = 0, after = 0;
};

template <class Visit>
void visit_runs(const ConvShape& s, const ColumnBlock& which, std::int64_t row,
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
    visit(PixelRun{place, input_y * s.width + begin * s.stride_width + shift_x, begin - x,
                   stop - begin, end - stop});
    place += end - x;
  }
}

}  // namespace

void im2col(const ConvShape& s, const float* image, const ColumnBlock& which, float* block) {
  const std::int64_t kernel_size = s.kernel_height * s.kernel_width;
  for (std::int64_t r = 0; r < which.rows; ++r, block += which.pixels) {
    const std::int64_t row = which.first_row + r;
    const float* const channel = image + row / kernel_size * s.height * s.width;
    visit_runs(s, which, row, [&](const PixelRun& run) {
      float* to = std::fill_n(block + run.place, run.before, 0.0F);
      for (std::int64_t i = 0; i < run.count; ++i) *to++ = channel[run.source + i * s.stride_width];
      std::fill_n(to, run.after, 0.0F);
    });
  }
}

void col2im(const ConvShape& s, const float* block, const ColumnBlock& which, float* image) {
  const std::int64_t kernel_size = s.kernel_height * s.kernel_width;
  for (std::int64_t r = 0; r < which.rows; ++r, block += which.pixels) {
    const std::int64_t row = which.first_row + r;
    float* const channel = image + row / kernel_size * s.height * s.width;
    visit_runs(s, which, row, [&](const PixelRun& run) {
      const float* const from = block + run.place + run.before;
      for (std::int64_t i = 0; i < run.count; ++i) {
        channel[run.source + i * s.stride_width] += from[i];
      }
    });
  }
}

}  // namespace strata::cpu
