// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/caffe/layers.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

namespace strata::caffe {
namespace {

PoolKind pool_kind(const Message& parameters, const Layer& layer, Net& net) {
  const std::string method = parameters.text("pool", "MAX");
  if (method == "MAX" || method == "0") return PoolKind::maximum;
  if (method == "STOCHASTIC" || method == "2") {
    net.note(WarningCode::value_assumed, layer, "stochastic pooling is counted as average pooling");
  } else if (method != "AVE" && method != "1") {
    fail(ErrorKind::input, "field 'pool': expected MAX, AVE or STOCHASTIC, got {}",
         network::in_quotes(method));
  }
  return PoolKind::average;
}

/// Height and width of a setting: `<name>_h` and `<name>_w`, or `<whole>` for both.
Extents pair(const Message& parameters, std::string_view name, std::string_view whole,
             std::int64_t otherwise) {
  const std::int64_t both = parameters.number(whole, otherwise);
  return {parameters.number(fmt::format("{}_h", name), both),
          parameters.number(fmt::format("{}_w", name), both)};
}

// Caffe rounds up, so that a window may hang over the edge, even the only one: then the window is
// as large as what it can see.
Pool pool_of(const Message& parameters, PoolKind kind, TensorId x, Net& net) {
  const bool rounds_up = parameters.text("round_mode", "CEIL") == "CEIL";
  Pool op{.kind = kind,
          .kernel = pair(parameters, "kernel", "kernel_size", 0),
          .stride = pair(parameters, "stride", "stride", 1),
          .pad_begin = pair(parameters, "pad", "pad", 0),
          .ceil_mode = rounds_up,
          .count_include_pad = kind == PoolKind::average};
  op.pad_end = op.pad_begin;
  for (std::size_t axis = 0; axis < 2 && rounds_up; ++axis) {
    const Dim extent = net.shape(x)[axis + 2];
    if (!extent.is_number()) continue;
    const std::int64_t seen =
        checked_add(extent.factor, checked_add(op.pad_begin[axis], op.pad_end[axis]));
    const bool hangs_over = op.kernel[axis] > seen && op.kernel[axis] - seen < op.stride[axis];
    if (hangs_over) op.kernel[axis] = seen;
  }
  return op;
}

}  // namespace

void add_pooling(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("pooling_param");
  const TensorId x = net.bottom(layer);
  const PoolKind kind = pool_kind(parameters, layer, net);
  if (net.axes(x) != 4) {
    fail(ErrorKind::input, "pooling expects N, C, H, W, got {}",
         text_of(net.shape(x), net.builder().symbols()));
  }
  const bool is_global = parameters.flag("global_pooling", false);
  const Operator op = is_global ? Operator(AdaptivePool{.kind = kind})
                                : Operator(pool_of(parameters, kind, x, net));
  const TensorId y = net.add(layer, op, {x});
  net.set_top(layer, y);
  if (layer.tops.size() < 2) return;
  // Where the maxima lay, for a layer that puts them back.
  net.note(WarningCode::operator_not_counted, layer, "the mask of a pooling is not counted");
  net.set_top(layer, net.add_step(layer, "mask", Opaque{"caffe.PoolingMask", {net.shape(y)}}, {x}),
              1);
}

// Pools to 1×1, 2×2, 4×4 … and lays the results side by side.
void add_spatial_pyramid(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("spp_param");
  const TensorId x = net.bottom(layer);
  const std::int64_t height = parameters.number("pyramid_height", 1);
  constexpr std::int64_t highest = 16;
  if (height < 1 || height > highest) {
    fail(ErrorKind::input, "field 'pyramid_height': expected 1 to {}, got {}", highest, height);
  }
  const PoolKind kind = pool_kind(parameters, layer, net);
  std::vector<TensorId> levels;
  for (std::int64_t level = 0; level < height; ++level) {
    const std::int64_t bins = std::int64_t{1} << level;
    const AdaptivePool pool{.kind = kind, .output = {bins, bins}};
    const TensorId pooled = net.add_step(layer, fmt::format("pool{}", level), pool, {x});
    levels.push_back(net.add_step(layer, fmt::format("flatten{}", level), Flatten{}, {pooled}));
  }
  net.set_top(layer, net.builder().output_of(net.add_node(layer, Concat{}, levels)));
}

// Within a channel the neighbours are those of a square window.
void add_lrn(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("lrn_param");
  const std::int64_t size = parameters.number("local_size", 5);
  const std::string region = parameters.text("norm_region", "ACROSS_CHANNELS");
  const bool is_within = region == "WITHIN_CHANNEL" || region == "1";
  if (!is_within && region != "ACROSS_CHANNELS" && region != "0") {
    fail(ErrorKind::input,
         "field 'norm_region': expected ACROSS_CHANNELS or WITHIN_CHANNEL, got {}",
         network::in_quotes(region));
  }
  const LocalResponseNorm op{.size = is_within ? checked_mul(size, size) : size};
  net.set_top(layer, net.add(layer, op, {net.bottom(layer)}));
}

void add_reorg(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("reorg_param");
  const SpaceToDepth op{.block = parameters.number("stride", 1),
                        .inverse = parameters.flag("reverse", false)};
  net.set_top(layer, net.add(layer, op, {net.bottom(layer)}));
}

void add_upsample(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("upsample_param");
  const Resize op{.scale = pair(parameters, "scale", "scale", 2)};
  net.set_top(layer, net.add(layer, op, {net.bottom(layer)}));
}

// The bilinear layer of DeepLab and PSPNet: to a given size, by a factor of the grid's cells, or
// both ways in turn.
void add_interp(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("interp_param");
  const TensorId x = net.bottom(layer);
  const std::int64_t shrink = parameters.number("shrink_factor", 1);
  const std::int64_t zoom = parameters.number("zoom_factor", 1);
  if (shrink < 1 || zoom < 1) {
    fail(ErrorKind::input, "zoom_factor and shrink_factor must be at least 1, got {} and {}", zoom,
         shrink);
  }
  const std::int64_t pads =
      checked_add(parameters.number("pad_beg", 0), parameters.number("pad_end", 0));
  const auto scaled = [&](std::int64_t axis) {
    std::int64_t cells = checked_add(net.builder().extent(x, axis), pads) - 1;
    cells = checked_mul(cells / shrink, zoom);
    return checked_add(cells, 1);
  };
  Resize op{
      .kind = ResizeKind::linear,
      .output = {parameters.number("height", scaled(2)), parameters.number("width", scaled(3))}};
  if (layer.bottoms.size() > 1) {
    const TensorId model = net.bottom(layer, 1);
    op.output = {net.builder().extent(model, 2), net.builder().extent(model, 3)};
  }
  net.set_top(layer, net.add(layer, op, {x}));
}

}  // namespace strata::caffe
