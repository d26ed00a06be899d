// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/darknet/sections.hpp"

namespace strata::darknet {
namespace {

// darknet pads by size − 1 unless told otherwise, the smaller half before, and rounds down
// (maxpool_layer.c): windows of 2 with stride 2 then cover an odd image to its end, and windows of
// any size with stride 1 keep the size.
Pool pool_of(const Section& section, PoolKind kind) {
  const std::int64_t size = section.number("size", section.number("stride", 1));
  const std::int64_t padding = section.number("padding", size - 1);
  const std::int64_t before = padding / 2;
  const std::int64_t after = padding - before;
  return {.kind = kind,
          .kernel = {size, size},
          .stride = section.flag("antialiasing") ? Extents{1, 1} : strides(section),
          .pad_begin = {before, before},
          .pad_end = {after, after}};
}

// The largest of the channels g, g + n, g + 2n, …, for n channels to be left.
TensorId pooled_over_channels(const Section& section, Assembly& net, TensorId x) {
  GraphBuilder& builder = net.builder();
  const std::int64_t left = section.number("out_channels", 1);
  const std::int64_t channels = builder.extent(x, 1);
  if (left < 1 || channels % left != 0) {
    fail(ErrorKind::unsupported, "key 'out_channels': {} does not divide {} channels", left,
         channels);
  }
  const std::int64_t height = builder.extent(x, 2);
  const std::int64_t width = builder.extent(x, 3);
  const Shape grouped{0, channels / left, left, height, width};
  x = builder.add(net.numbered("channel_groups"), Reshape{grouped}, {x});
  const Reduce maximum{.kind = ReduceKind::maximum, .axes = {1}};
  return builder.add(net.numbered("maxpool"), maximum, {x});
}

}  // namespace

Made make_maxpool(const Section& section, Assembly& net) {
  TensorId x = net.as_image(net.previous());
  if (section.flag("maxpool_depth")) return {pooled_over_channels(section, net, x)};
  x = net.builder().add(net.numbered("maxpool"), pool_of(section, PoolKind::maximum), {x});
  return {blurred(section, net, x)};
}

Made make_local_avgpool(const Section& section, Assembly& net) {
  const TensorId x = net.as_image(net.previous());
  return {net.builder().add(net.numbered("avgpool"), pool_of(section, PoolKind::average), {x})};
}

Made make_avgpool(const Section&, Assembly& net) {
  const TensorId x = net.as_image(net.previous());
  return {net.builder().add(net.numbered("avgpool"), AdaptivePool{}, {x})};
}

// A negative stride sums blocks of pixels, the adjoint of repeating them.
Made make_upsample(const Section& section, Assembly& net) {
  const std::int64_t stride = section.number("stride", 2);
  const TensorId x = net.as_image(net.previous());
  if (stride >= 0) {
    return {net.builder().add(net.numbered("upsample"), Resize{.scale = {stride, stride}}, {x})};
  }
  const Extents block{-stride, -stride};
  const Pool sum{.kind = PoolKind::average, .kernel = block, .stride = block};
  return {net.builder().add(net.numbered("downsample"), sum, {x})};
}

Made make_reorg(const Section& section, Assembly& net) {
  TensorId x = net.previous();
  // "extra": the image as one row with so many zeros behind it.
  if (const std::int64_t extra = section.number("extra", 0); extra > 0) {
    x = net.as_rows(x);
    return {net.builder().add(net.numbered("reorg"), Pad{{0, 0}, {0, extra}}, {x})};
  }
  const SpaceToDepth op{.block = section.number("stride", 1), .inverse = section.flag("reverse")};
  return {net.builder().add(net.numbered("reorg"), op, {net.as_image(x)})};
}

Made make_crop(const Section& section, Assembly& net) {
  const TensorId x = net.as_image(net.previous());
  const std::int64_t height = section.number("crop_height", 1);
  const std::int64_t width = section.number("crop_width", 1);
  const std::int64_t from_height = net.builder().extent(x, 2);
  const std::int64_t from_width = net.builder().extent(x, 3);
  if (height < 1 || width < 1 || height > from_height || width > from_width) {
    fail(ErrorKind::input, "expected a crop of at most {}×{}, got {}×{}", from_width, from_height,
         width, height);
  }
  const Slice window{.axes = {2, 3}, .begin = {0, 0}, .end = {height, width}, .step = {}};
  return {net.builder().add(net.numbered("crop"), window, {x})};
}

Made make_dropout(const Section& section, Assembly& net) {
  const Dropout op{.probability = section.real("probability", .5)};
  return {net.builder().add(net.numbered("dropout"), op, {net.previous()})};
}

Made make_normalization(const Section& section, Assembly& net) {
  const LocalResponseNorm op{.size = section.number("size", 5)};
  return {net.builder().add(net.numbered("lrn"), op, {net.as_image(net.previous())})};
}

}  // namespace strata::darknet
