// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/reference.hpp"

#include <cmath>

namespace strata {
namespace {

struct Position {  // n, channel or filter, y, x
  std::int64_t n, c, y, x;
};

Position position_of(std::int64_t index, std::int64_t channels, std::int64_t height,
                     std::int64_t width) {
  const std::int64_t x = index % width;
  const std::int64_t y = index / width % height;
  const std::int64_t c = index / (width * height) % channels;
  return {index / (width * height * channels), c, y, x};
}

/// Sums over output positions (oy, ox) and kernel positions (ky, kx) that meet; each pass fixes two
/// of the three tensors' indices and runs over the rest.
class Sums {
 public:
  Sums(const ConvShape& shape, const ConvData& data) : s_(shape), data_(data) {}

  double forward(Position out) const {
    const std::int64_t group = out.c / filters_per_group_;
    double sum = 0;
    for (std::int64_t c = 0; c < channels_per_group_; ++c) {
      for (std::int64_t ky = 0; ky < s_.kernel_height; ++ky) {
        for (std::int64_t kx = 0; kx < s_.kernel_width; ++kx) {
          sum += input(out.n, group * channels_per_group_ + c, input_y(out.y, ky),
                       input_x(out.x, kx)) *
                 weight(out.c, c, ky, kx);
        }
      }
    }
    return sum;
  }

  double input_gradient(Position in) const {
    const std::int64_t group = in.c / channels_per_group_;
    double sum = 0;
    for (std::int64_t f = 0; f < filters_per_group_; ++f) {
      const std::int64_t filter = group * filters_per_group_ + f;
      for (std::int64_t ky = 0; ky < s_.kernel_height; ++ky) {
        for (std::int64_t kx = 0; kx < s_.kernel_width; ++kx) {
          // The output position, if any, whose kernel position (ky, kx) lies on this input.
          const std::int64_t y = in.y + s_.pad_height - ky * s_.dilation_height;
          const std::int64_t x = in.x + s_.pad_width - kx * s_.dilation_width;
          if (y < 0 || x < 0 || y % s_.stride_height != 0 || x % s_.stride_width != 0) continue;
          sum += output(in.n, filter, y / s_.stride_height, x / s_.stride_width) *
                 weight(filter, in.c % channels_per_group_, ky, kx);
        }
      }
    }
    return sum;
  }

  double weight_gradient(Position w) const {  // n: filter, c: channel within its group
    const std::int64_t group = w.n / filters_per_group_;
    double sum = 0;
    for (std::int64_t n = 0; n < s_.batch; ++n) {
      for (std::int64_t oy = 0; oy < output_height_; ++oy) {
        for (std::int64_t ox = 0; ox < output_width_; ++ox) {
          sum += output(n, w.n, oy, ox) *
                 input(n, group * channels_per_group_ + w.c, input_y(oy, w.y), input_x(ox, w.x));
        }
      }
    }
    return sum;
  }

 private:
  std::int64_t input_y(std::int64_t oy, std::int64_t ky) const {
    return oy * s_.stride_height - s_.pad_height + ky * s_.dilation_height;
  }
  std::int64_t input_x(std::int64_t ox, std::int64_t kx) const {
    return ox * s_.stride_width - s_.pad_width + kx * s_.dilation_width;
  }
  double input(std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) const {
    if (y < 0 || x < 0 || y >= s_.height || x >= s_.width) return 0;
    return at(data_.input, ((n * s_.channels + c) * s_.height + y) * s_.width + x);
  }
  double weight(std::int64_t f, std::int64_t c, std::int64_t ky, std::int64_t kx) const {
    return at(data_.weights,
              ((f * channels_per_group_ + c) * s_.kernel_height + ky) * s_.kernel_width + kx);
  }
  double output(std::int64_t n, std::int64_t f, std::int64_t y, std::int64_t x) const {
    if (y >= output_height_ || x >= output_width_) return 0;
    return at(data_.output, ((n * s_.filters + f) * output_height_ + y) * output_width_ + x);
  }
  static double at(std::span<const float> values, std::int64_t index) {
    return static_cast<double>(values[static_cast<std::size_t>(index)]);
  }

  const ConvShape& s_;
  const ConvData& data_;
  // Quotients, which must not be computed again in the innermost loops.
  const std::int64_t channels_per_group_ = s_.channels / s_.groups;
  const std::int64_t filters_per_group_ = s_.filters / s_.groups;
  const std::int64_t output_height_ = s_.output_height();
  const std::int64_t output_width_ = s_.output_width();
};

}  // namespace

double reference_element(const ConvShape& shape, ConvPass pass, const ConvData& data,
                         std::int64_t index) {
  const Sums sums(shape, data);
  switch (pass) {
    case ConvPass::forward:
      return sums.forward(
          position_of(index, shape.filters, shape.output_height(), shape.output_width()));
    case ConvPass::input_gradient:
      return sums.input_gradient(position_of(index, shape.channels, shape.height, shape.width));
    case ConvPass::weight_gradient:
      return sums.weight_gradient(position_of(index, shape.channels / shape.groups,
                                              shape.kernel_height, shape.kernel_width));
  }
  return 0;
}

std::int64_t result_elements(const ConvShape& shape, ConvPass pass) {
  switch (pass) {
    case ConvPass::forward: return shape.output_elements();
    case ConvPass::input_gradient: return shape.input_elements();
    case ConvPass::weight_gradient: return shape.weight_elements();
  }
  return 0;
}

std::vector<double> reference_result(const ConvShape& shape, ConvPass pass, const ConvData& data) {
  std::vector<double> result(static_cast<std::size_t>(result_elements(shape, pass)));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = reference_element(shape, pass, data, static_cast<std::int64_t>(i));
  }
  return result;
}

double relative_error(std::span<const float> result, std::span<const double> expected) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = static_cast<double>(result[i]) - expected[i];
    difference += error * error;
    norm += expected[i] * expected[i];
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

}  // namespace strata
