// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/darknet/sections.hpp"

#include <array>

namespace strata::darknet {
namespace {

// local_layer.c pads so that the size is kept, or not at all.
std::int64_t places_along(std::int64_t extent, std::int64_t size, std::int64_t stride,
                          bool is_padded) {
  const std::int64_t room = extent - (is_padded ? 1 : size);
  if (room < 0) fail(ErrorKind::input, "window {} is larger than its input, {}", size, extent);
  return room / stride + 1;
}

}  // namespace

// A convolution whose filters differ from place to place. As darknet computes it: the window of
// every place is laid out as a row (a gather from the padded image), and each place multiplies its
// rows by its own matrix [window·channels, filters].
Made make_local(const Section& section, Assembly& net) {
  const std::int64_t filters = section.number("filters", 1);
  const std::int64_t size = section.number("size", 1);
  const std::int64_t stride = section.number("stride", 1);
  const bool is_padded = section.flag("pad");
  if (filters < 1 || size < 1 || stride < 1) {
    fail(ErrorKind::input, "filters, size and stride must be at least 1, got {}, {} and {}",
         filters, size, stride);
  }
  GraphBuilder& builder = net.builder();
  TensorId x = net.as_image(net.previous());
  const std::int64_t channels = builder.extent(x, 1);
  const std::int64_t height = places_along(builder.extent(x, 2), size, stride, is_padded);
  const std::int64_t width = places_along(builder.extent(x, 3), size, stride, is_padded);
  const std::int64_t places = checked_mul(height, width);
  const std::int64_t window = checked_mul(channels, size, size);
  const std::string name = net.numbered("local");

  if (is_padded && size > 1) {
    const std::int64_t pad = size / 2;
    x = builder.add(net.numbered("pad"), Pad{{0, 0, pad, pad}, {0, 0, pad, pad}}, {x});
  }
  x = net.as_rows(x);
  const TensorId positions =
      builder.stored(name + ".positions", {places, 1, window}, TensorKind::constant, DType::int32);
  x = builder.add(net.numbered("windows"), Gather{.axis = 1}, {x, positions});
  const TensorId weight = builder.stored(name + ".weight", {places, window, filters});
  x = builder.add(name, MatMul{}, {x, weight});
  const TensorId bias = builder.stored(name + ".bias", {places, 1, filters});
  x = builder.add(net.numbered("bias"), Elementwise{ElementwiseKind::add}, {x, bias});
  x = builder.add(net.numbered("channels_first"), Transpose{{0, 3, 1, 2}}, {x});
  x = builder.add(net.numbered("image"), Reshape{{0, filters, height, width}}, {x});
  return {net.activated(section, "logistic", x)};
}

}  // namespace strata::darknet
