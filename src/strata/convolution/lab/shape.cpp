// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/shape.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

std::int64_t output_extent(std::int64_t input, std::int64_t kernel, std::int64_t stride,
                           std::int64_t pad, std::int64_t dilation) {
  const Count reach = Count(dilation) * (kernel - 1) + 1;
  const Count room = Count(input) + Count(2) * pad - reach;
  return room.value() < 0 ? 0 : room.value() / stride + 1;
}

std::string by(std::int64_t height, std::int64_t width) {
  return fmt::format("{}×{}", height, width);
}

std::string one_or_both(std::int64_t height, std::int64_t width) {
  return height == width ? fmt::format("{}", height) : by(height, width);
}

}  // namespace

std::int64_t ConvShape::output_height() const {
  return output_extent(height, kernel_height, stride_height, pad_height, dilation_height);
}

std::int64_t ConvShape::output_width() const {
  return output_extent(width, kernel_width, stride_width, pad_width, dilation_width);
}

std::int64_t ConvShape::input_elements() const {
  return checked_mul(batch, channels, height, width);
}

std::int64_t ConvShape::weight_elements() const {
  return checked_mul(filters, channels / groups, kernel_height, kernel_width);
}

std::int64_t ConvShape::output_elements() const {
  return checked_mul(batch, filters, output_height(), output_width());
}

std::optional<std::string> refusal_of(const ConvShape& shape) {
  struct Size {
    std::string_view name;
    std::int64_t value;
    std::int64_t least;
  };
  const Size sizes[] = {{"batch", shape.batch, 1},
                        {"channels", shape.channels, 1},
                        {"height", shape.height, 1},
                        {"width", shape.width, 1},
                        {"filters", shape.filters, 1},
                        {"kernel height", shape.kernel_height, 1},
                        {"kernel width", shape.kernel_width, 1},
                        {"stride", shape.stride_height, 1},
                        {"stride", shape.stride_width, 1},
                        {"padding", shape.pad_height, 0},
                        {"padding", shape.pad_width, 0},
                        {"dilation", shape.dilation_height, 1},
                        {"dilation", shape.dilation_width, 1},
                        {"groups", shape.groups, 1}};
  for (const Size& size : sizes) {
    if (size.value < size.least) {
      return fmt::format("{} must be at least {}, got {}", size.name, size.least, size.value);
    }
  }
  if (shape.channels % shape.groups != 0 || shape.filters % shape.groups != 0) {
    return fmt::format("{} groups do not divide {} channels and {} filters", shape.groups,
                       shape.channels, shape.filters);
  }
  try {
    if (shape.output_height() < 1 || shape.output_width() < 1) {
      return fmt::format(
          "the kernel {} with dilation {} is larger than the padded input {}",
          by(shape.kernel_height, shape.kernel_width),
          one_or_both(shape.dilation_height, shape.dilation_width),
          by(shape.height + 2 * shape.pad_height, shape.width + 2 * shape.pad_width));
    }
    // The largest counts that anybody forms: bytes of a tensor at 8 bytes each, and FLOP.
    checked_mul(shape.input_elements(), 8);
    checked_mul(shape.weight_elements(), 8);
    checked_mul(shape.output_elements(), 8);
    direct_flop(shape);
  } catch (const Error&) {
    return "its counts do not fit 64 bits";
  }
  return std::nullopt;
}

std::string_view name_of(ConvPass pass) {
  switch (pass) {
    case ConvPass::forward: return "forward";
    case ConvPass::input_gradient: return "backward_input";
    case ConvPass::weight_gradient: return "backward_weight";
  }
  return "";
}

std::optional<ConvPass> conv_pass_named(std::string_view name) {
  for (const ConvPass pass : all_conv_passes) {
    if (name_of(pass) == name) return pass;
  }
  return std::nullopt;
}

std::int64_t direct_flop(const ConvShape& shape) {
  return checked_mul(2, shape.output_elements(), shape.channels / shape.groups, shape.kernel_height,
                     shape.kernel_width);
}

std::string to_text(const ConvShape& shape) {
  std::string text = fmt::format("b{} c{} {} f{} k{} s{} p{}", shape.batch, shape.channels,
                                 by(shape.height, shape.width), shape.filters,
                                 by(shape.kernel_height, shape.kernel_width),
                                 one_or_both(shape.stride_height, shape.stride_width),
                                 one_or_both(shape.pad_height, shape.pad_width));
  if (shape.dilation_height != 1 || shape.dilation_width != 1) {
    text += fmt::format(" d{}", one_or_both(shape.dilation_height, shape.dilation_width));
  }
  if (shape.groups != 1) text += fmt::format(" g{}", shape.groups);
  return text;
}

}  // namespace strata
