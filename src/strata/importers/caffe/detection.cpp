// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/caffe/layers.hpp"

#include <fmt/format.h>

namespace strata::caffe {
namespace {

void note_uncounted(const Layer& layer, Net& net) {
  net.note(WarningCode::operator_not_counted, layer,
           fmt::format("a layer of type '{}' is not counted", layer.type));
}

}  // namespace

// SSD's boxes of every pixel: corners and variances. They depend on nothing but sizes. Per smallest
// size one square, one more for a largest size, and one (flipped: two) per other aspect ratio.
void add_prior_box(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("prior_box_param");
  const TensorId x = net.bottom(layer);
  const auto smallest = static_cast<std::int64_t>(parameters.count("min_size"));
  const auto largest = static_cast<std::int64_t>(parameters.count("max_size"));
  const auto ratios = static_cast<std::int64_t>(parameters.count("aspect_ratio"));
  const std::int64_t per_ratio = parameters.flag("flip", true) ? 2 : 1;
  const std::int64_t boxes = checked_add(checked_mul(smallest, 1 + per_ratio * ratios), largest);
  const std::int64_t pixels = checked_mul(net.builder().extent(x, 2), net.builder().extent(x, 3));
  note_uncounted(layer, net);
  net.set_top(layer, add_opaque(layer, net, {1, 2, checked_mul(pixels, boxes, 4)}));
}

// Seven numbers for every box that is kept.
void add_detection_output(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("detection_output_param");
  const std::int64_t kept = std::max<std::int64_t>(1, parameters.number("keep_top_k", 1));
  note_uncounted(layer, net);
  net.set_top(layer, add_opaque(layer, net, {1, 1, kept, 7}));
}

void add_roi_pooling(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("roi_pooling_param");
  const Shape shape{net.shape(net.bottom(layer, 1))[0], net.builder().extent(net.bottom(layer), 1),
                    parameters.number("pooled_h", 1), parameters.number("pooled_w", 1)};
  note_uncounted(layer, net);
  net.set_top(layer, add_opaque(layer, net, shape));
}

void add_arg_max(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("argmax_param");
  const std::int64_t best = parameters.number("top_k", 1);
  const Shape& x = net.shape(net.bottom(layer));
  Shape shape{x[0], parameters.flag("out_max_val", false) ? 2 : 1, best};
  if (parameters.has("axis")) {
    shape = x;
    shape[normal_axis(parameters.number("axis", 1), x.size())] = best;
  }
  note_uncounted(layer, net);
  net.set_top(layer, add_opaque(layer, net, shape));
}

}  // namespace strata::caffe
