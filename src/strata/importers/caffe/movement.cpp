// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/caffe/layers.hpp"
#include "strata/importers/network/document.hpp"

#include <array>

namespace strata::caffe {
namespace {

/// The axis under its present name, or under the one of the first versions.
std::int64_t axis_of(const Message& parameters, std::string_view old_name) {
  return parameters.number("axis", parameters.number(old_name, 1));
}

/// Sizes of the parts that the points cut an axis into.
std::vector<std::int64_t> part_sizes(const std::vector<std::int64_t>& points, std::int64_t whole) {
  std::vector<std::int64_t> sizes;
  std::int64_t begin = 0;
  for (const std::int64_t point : points) {
    sizes.push_back(checked_add(point, -begin));
    begin = point;
  }
  sizes.push_back(checked_add(whole, -begin));
  return sizes;
}

// The file writes the batch as a number; here it stays open. A first extent that equals the usual
// batch is the batch; two that multiply to it are time and batch, in Caffe's order.
void open_batch(Shape& wanted, const Shape& x, Net& net) {
  if (wanted.empty() || x.empty() || x[0].is_number() || !wanted[0].is_number()) return;
  const std::optional<std::int64_t> usual = net.usual(x[0]);
  if (!usual) return;
  if (wanted[0].is(*usual)) {
    wanted[0] = x[0];
    return;
  }
  const bool has_steps = wanted.size() > 1 && wanted[1].is_number() && wanted[0].factor > 0 &&
                         wanted[1].factor > 0 && *usual % wanted[0].factor == 0 &&
                         *usual / wanted[0].factor == wanted[1].factor;
  if (!has_steps) return;
  if (const auto rest = net.builder().symbols().divide_exactly(x[0], wanted[0].factor)) {
    wanted[1] = *rest;
  }
}

bool is_fixed(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(),
                     [](Dim extent) { return extent.is_number() && extent.factor > 0; });
}

}  // namespace

void add_concat(const Layer& layer, Net& net) {
  const Concat op{.axis = axis_of(layer.message->message("concat_param"), "concat_dim")};
  const std::vector<TensorId> parts = net.all_bottoms(layer);
  net.set_top(layer, net.builder().output_of(net.add_node(layer, op, parts)));
}

void add_slice(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("slice_param");
  const TensorId x = net.bottom(layer);
  const std::vector<std::int64_t> points = parameters.numbers("slice_point");
  Split op{.axis = axis_of(parameters, "slice_dim")};
  if (points.empty()) {
    op.parts = static_cast<std::int64_t>(layer.tops.size());
  } else {
    if (points.size() + 1 != layer.tops.size()) {
      fail(ErrorKind::input, "field 'slice_point': expected {} for {} tops, got {}",
           layer.tops.size() - 1, layer.tops.size(), points.size());
    }
    const std::size_t axis = normal_axis(op.axis, net.axes(x));
    const std::optional<std::int64_t> whole = net.usual(net.shape(x)[axis]);
    if (!whole) fail(ErrorKind::unsupported, "slices of an axis whose size follows the batch");
    op.sizes = part_sizes(points, *whole);
  }
  const NodeId node = net.add_node(layer, op, std::array{x});
  for (std::size_t i = 0; i < layer.tops.size(); ++i) {
    net.set_top(layer, net.builder().output_of(node, i), i);
  }
}

void add_split(const Layer& layer, Net& net) {
  const TensorId x = net.bottom(layer);
  for (std::size_t i = 0; i < layer.tops.size(); ++i) net.set_top(layer, x, i);
}

void add_flatten(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("flatten_param");
  const TensorId x = net.bottom(layer);
  const Shape& shape = net.shape(x);
  const std::size_t begin = normal_axis(parameters.number("axis", 1), shape.size());
  const std::size_t end = normal_axis(parameters.number("end_axis", -1), shape.size()) + 1;
  if (end == shape.size()) {
    const Flatten op{.axis = static_cast<std::int64_t>(begin)};
    return net.set_top(layer, net.add(layer, op, {x}));
  }
  if (end <= begin) fail(ErrorKind::input, "field 'end_axis' lies before 'axis'");
  const std::span<const Dim> extents = shape;
  Shape wanted(extents.first(begin));
  wanted.push_back(
      elements_of(Shape(extents.subspan(begin, end - begin)), net.builder().symbols()));
  for (const Dim extent : extents.subspan(end)) wanted.push_back(extent);
  net.set_top(layer, net.add(layer, Reshape{wanted}, {x}));
}

// 0 keeps an extent, −1 takes what is left; axes outside [axis, axis + num_axes) stay.
void add_reshape(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("reshape_param");
  const TensorId x = net.bottom(layer);
  const Shape shape = net.shape(x);
  const auto axes = static_cast<std::int64_t>(shape.size());
  std::int64_t begin = parameters.number("axis", 0);
  if (begin < 0) begin += axes + 1;
  const std::int64_t count = parameters.number("num_axes", -1);
  const std::int64_t end = count < 0 ? axes : checked_add(begin, count);
  if (begin < 0 || begin > axes || end > axes) {
    fail(ErrorKind::input, "axes {} to {} of {}", begin, end,
         text_of(shape, net.builder().symbols()));
  }
  Shape wanted;
  for (std::int64_t i = 0; i < begin; ++i) wanted.push_back(shape[static_cast<std::size_t>(i)]);
  for (const std::int64_t extent : parameters.message("shape").numbers("dim")) {
    const auto here = wanted.size();
    if (extent < -1 || (extent == 0 && here >= shape.size())) {
      fail(ErrorKind::input, "field 'dim': no extent can be {} there", extent);
    }
    wanted.push_back(extent == 0 ? shape[here] : Dim(extent));
  }
  for (std::int64_t i = end; i < axes; ++i) wanted.push_back(shape[static_cast<std::size_t>(i)]);
  open_batch(wanted, shape, net);
  if (is_fixed(wanted) && !is_fixed(shape)) {
    net.note(WarningCode::batch_fixed_in_file, layer,
             "this reshape fixes all extents: another batch than the file's will be refused");
  }
  net.set_top(layer, net.add(layer, Reshape{wanted}, {x}));
}

void add_permute(const Layer& layer, Net& net) {
  Transpose op;
  for (const std::int64_t axis : layer.message->message("permute_param").numbers("order")) {
    op.permutation.push_back(axis);
  }
  const TensorId x = net.bottom(layer);
  // Axes that are not listed follow in order.
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(net.axes(x)); ++axis) {
    const auto& listed = op.permutation;
    if (std::find(listed.begin(), listed.end(), axis) == listed.end())
      op.permutation.push_back(axis);
  }
  net.set_top(layer, net.add(layer, op, {x}));
}

void add_tile(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("tile_param");
  const std::int64_t tiles = parameters.number("tiles", 1);
  constexpr std::int64_t most_tiles = 1024;
  if (tiles < 1 || tiles > most_tiles) {
    fail(ErrorKind::unsupported, "field 'tiles': expected 1 to {}, got {}", most_tiles, tiles);
  }
  const std::vector<TensorId> copies(static_cast<std::size_t>(tiles), net.bottom(layer));
  const Concat op{.axis = parameters.number("axis", 1)};
  net.set_top(layer, net.builder().output_of(net.add_node(layer, op, copies)));
}

// Cuts the first bottom to the size of the second from `axis` on.
void add_crop(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("crop_param");
  const TensorId x = net.bottom(layer);
  const TensorId model = net.bottom(layer, 1);
  const std::vector<std::int64_t> offsets = parameters.numbers("offset");
  const std::size_t first = normal_axis(parameters.number("axis", 2), net.axes(x));
  if (net.axes(model) != net.axes(x)) {
    fail(ErrorKind::input, "expected two bottoms of as many axes, got {} and {}", net.axes(x),
         net.axes(model));
  }
  Slice op;
  for (std::size_t axis = first; axis < net.axes(x); ++axis) {
    const std::size_t which = offsets.size() == 1 ? 0 : axis - first;
    const std::int64_t offset = which < offsets.size() ? offsets[which] : 0;
    const std::int64_t extent = net.builder().extent(model, static_cast<std::int64_t>(axis));
    op.axes.push_back(static_cast<std::int64_t>(axis));
    op.begin.push_back(offset);
    op.end.push_back(checked_add(offset, extent));
    if (offset < 0 ||
        op.end.back().factor > net.builder().extent(x, static_cast<std::int64_t>(axis))) {
      fail(ErrorKind::input, "{} from offset {} is more than axis {} has", extent, offset, axis);
    }
  }
  net.set_top(layer, net.add(layer, op, {x}));
}

void add_shuffle_channel(const Layer& layer, Net& net) {
  const ChannelShuffle op{.groups =
                              layer.message->message("shuffle_channel_param").number("group", 1)};
  net.set_top(layer, net.add(layer, op, {net.bottom(layer)}));
}

void add_reduction(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("reduction_param");
  const std::string operation = parameters.text("operation", "SUM");
  TensorId x = net.bottom(layer);
  if (operation == "ASUM") x = net.add_step(layer, "absolute", Unary{UnaryKind::absolute}, {x});
  if (operation == "SUMSQ") x = net.add_step(layer, "square", Unary{UnaryKind::square}, {x});
  Reduce op{.kind = operation == "MEAN" ? ReduceKind::mean : ReduceKind::sum};
  for (std::size_t axis = normal_axis(parameters.number("axis", 0), net.axes(x));
       axis < net.axes(x); ++axis) {
    op.axes.push_back(static_cast<std::int64_t>(axis));
  }
  net.set_top(layer, net.add(layer, op, {x}));
}

// A learnt tensor on its own.
void add_parameter(const Layer& layer, Net& net) {
  Shape shape;
  const Message& parameters = layer.message->message("parameter_param");
  for (const std::int64_t extent : parameters.message("shape").numbers("dim")) {
    if (extent < 1) fail(ErrorKind::input, "field 'dim': expected at least 1, got {}", extent);
    shape.push_back(extent);
  }
  net.set_top(layer, net.parameter(layer, 0, "weight", shape));
}

}  // namespace strata::caffe
