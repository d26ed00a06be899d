// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"

namespace strata::keras {
namespace {

struct Places {
  Shape extents;           // of the result, without batch and channels
  std::int64_t count = 1;  // their product
  std::int64_t window = 1;
};

Places places_of(LayerCall& call, Value x, const Extents& kernel, const Extents& stride) {
  Places places;
  places.window = call.net.builder().extent(x.id, 1);
  for (std::size_t axis = 0; axis < kernel.size(); ++axis) {
    const std::int64_t extent =
        call.net.builder().extent(x.id, static_cast<std::int64_t>(axis) + 2);
    if (kernel[axis] < 1 || stride[axis] < 1 || kernel[axis] > extent) {
      fail(ErrorKind::input, "a window of {} with stride {} over {}", kernel[axis], stride[axis],
           extent);
    }
    const std::int64_t count = (extent - kernel[axis]) / stride[axis] + 1;
    places.extents.push_back(count);
    places.count = checked_mul(places.count, count);
    places.window = checked_mul(places.window, kernel[axis]);
  }
  return places;
}

// A convolution whose filters differ from place to place: the window of every place is laid out as
// a row, and each place multiplies its rows by its own matrix [window, filters].
Values make_locally_connected(LayerCall& call, std::size_t axes) {
  const Value x = call.image(call.only_input());
  if (call.rank(x) != axes + 2) {
    fail(ErrorKind::input, "expected an input of {} axes, got {}", axes + 2,
         call.net.text(call.shape(x)));
  }
  const Config& config = call.config;
  const Extents kernel = config.find({"nb_row"}) == nullptr
                             ? config.extents({"kernel_size", "filter_length"}, axes)
                             : Extents{config.whole({"nb_row"}), config.whole({"nb_col"})};
  if (config.word({"padding", "border_mode"}, "valid") != "valid") {
    fail(ErrorKind::unsupported, "a locally connected layer with padding");
  }
  const Extents stride = config.extents({"strides", "subsample", "subsample_length"}, axes, 1);
  const std::int64_t filters = config.whole({"filters", "nb_filter"});
  if (filters < 1 || kernel.size() != axes) {
    fail(ErrorKind::input, "{} filters with a kernel of {} axes", filters, kernel.size());
  }
  const Places places = places_of(call, x, kernel, stride);

  const TensorId rows = call.add(Flatten{}, {x.id}, "flatten");
  const TensorId positions =
      call.stored("positions", {places.count, 1, places.window}, TensorKind::constant);
  call.net.graph().tensors[positions].type.dtype = DType::int32;
  const TensorId windows = call.add(Gather{.axis = 1}, {rows, positions}, "windows");
  const TensorId weight = call.stored("kernel", {places.count, places.window, filters});
  TensorId y = call.add(MatMul{}, {windows, weight});
  if (config.truth({"use_bias", "bias"}, true)) {
    const TensorId bias = call.stored("bias", {places.count, 1, filters});
    y = call.add(Elementwise{ElementwiseKind::add}, {y, bias}, "bias");
  }
  y = call.add(Transpose{{0, 3, 1, 2}}, {y}, "filters_first");
  Shape image = {call.shape(x)[0], filters};
  for (const Dim extent : places.extents) image.push_back(extent);
  y = call.add(Reshape{image}, {y}, "image");
  return {activated(call, {y, x.channels_at})};
}

}  // namespace

Values make_locally_connected1d(LayerCall& call) { return make_locally_connected(call, 1); }
Values make_locally_connected2d(LayerCall& call) { return make_locally_connected(call, 2); }

}  // namespace strata::keras
