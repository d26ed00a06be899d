// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"
#include "strata/importers/network/document.hpp"

#include <array>
#include <utility>
#include <vector>

namespace strata::keras {
namespace {

using Border = std::pair<std::int64_t, std::int64_t>;  // before and after

Border border_in(const Json& value, std::string_view what) {
  const Json* pair = list_in(value);
  if (pair == nullptr) {
    const std::int64_t both = whole_number(value, what);
    return {both, both};
  }
  if (pair->size() != 2) fail_expected("a pair of numbers", what, value);
  return {whole_number((*pair)[0], what), whole_number((*pair)[1], what)};
}

// Keras 1: {"top_pad": 1, "bottom_pad": 1, "left_pad": 0, "right_pad": 0}.
std::vector<Border> named_borders(const Config& pads) {
  return {{pads.whole({"top_pad"}, 0), pads.whole({"bottom_pad"}, 0)},
          {pads.whole({"left_pad"}, 0), pads.whole({"right_pad"}, 0)}};
}

// 2; [1, 2] for one axis; [1, 2] (the same on both sides) or [[1, 1], [2, 2]] for two.
std::vector<Border> borders_of(const Config& config, const char* what, std::size_t axes) {
  const Json* value = config.find({what});
  if (value == nullptr) return std::vector<Border>(axes, {1, 1});
  if (value->is_object() && list_in(*value) == nullptr) return named_borders(Config(*value));
  const Json* list = list_in(*value);
  if (axes == 1 && list != nullptr && list->size() == 2) return {border_in(*value, what)};
  if (list == nullptr) return std::vector<Border>(axes, border_in(*value, what));
  std::vector<Border> borders;
  for (const Json& item : *list) borders.push_back(border_in(item, what));
  return borders;
}

// The first spatial axis in Keras's order.
std::size_t first_spatial_axis(const LayerCall& call) { return call.is_channels_first() ? 2 : 1; }

Values with_borders(LayerCall& call, const char* what, std::int64_t sign) {
  const Value x = call.only_input();
  const std::size_t rank = call.rank(x);
  if (rank < 3) {
    fail(ErrorKind::input, "expected an input with spatial axes, got {}",
         call.net.text(call.shape(x)));
  }
  const std::vector<Border> borders = borders_of(call.config, what, rank - 2);
  if (borders.size() != rank - 2) {
    fail(ErrorKind::input, "expected {} pairs of numbers for '{}', got {}", rank - 2, what,
         borders.size());
  }
  Pad op{.begin = Axes(rank, 0), .end = Axes(rank, 0)};
  for (std::size_t i = 0; i < borders.size(); ++i) {
    const auto [before, after] = borders[i];
    if (before < 0 || after < 0) {
      fail(ErrorKind::input, "'{}' must not be negative, got {} and {}", what, before, after);
    }
    const std::size_t axis = stored_axis(first_spatial_axis(call) + i, rank, x.channels_at);
    op.begin[axis] = sign * before;
    op.end[axis] = sign * after;
  }
  return {{call.add(op, {x.id}), x.channels_at}};
}

ResizeKind interpolation_of(const Config& config) {
  const std::string word = config.word({"interpolation"}, "nearest");
  if (word == "nearest" || word == "area") return ResizeKind::nearest;
  if (word == "bilinear" || word == "linear") return ResizeKind::linear;
  if (word == "bicubic" || word == "lanczos3" || word == "lanczos5" || word == "gaussian" ||
      word == "mitchellcubic") {
    return ResizeKind::cubic;
  }
  fail(ErrorKind::input, "expected nearest, bilinear or bicubic for 'interpolation', got {}",
       network::in_quotes(word));
}

}  // namespace

Values make_zero_padding(LayerCall& call) { return with_borders(call, "padding", 1); }
Values make_cropping(LayerCall& call) { return with_borders(call, "cropping", -1); }

Values make_up_sampling(LayerCall& call) {
  const Value x = call.image(call.only_input());
  if (call.rank(x) < 3) {
    fail(ErrorKind::input, "expected an input with spatial axes, got {}",
         call.net.text(call.shape(x)));
  }
  const Resize op{.kind = interpolation_of(call.config),
                  .scale = call.config.extents({"size", "length"}, call.rank(x) - 2, 2)};
  return {{call.add(op, {x.id}), x.channels_at}};
}

Values make_resizing(LayerCall& call) {
  const Value x = call.image(call.only_input());
  const Resize op{.kind = call.config.find({"interpolation"}) == nullptr
                              ? ResizeKind::linear
                              : interpolation_of(call.config),
                  .output = {call.config.whole({"height"}), call.config.whole({"width"})}};
  return {{call.add(op, {x.id}), x.channels_at}};
}

// Cuts height × width out of the middle (or, at random, of anywhere).
Values make_center_crop(LayerCall& call) {
  const Value x = call.image(call.only_input());
  if (call.rank(x) != 4) {
    fail(ErrorKind::input, "expected an input of 4 axes, got {}", call.net.text(call.shape(x)));
  }
  Pad op{.begin = Axes(4, 0), .end = Axes(4, 0)};
  const std::array<std::int64_t, 2> wanted = {call.config.whole({"height"}),
                                              call.config.whole({"width"})};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::int64_t extent = call.net.builder().extent(x.id, static_cast<std::int64_t>(i) + 2);
    const std::int64_t cut = checked_add(extent, -wanted[i]);
    if (wanted[i] < 1 || cut < 0) {
      fail(ErrorKind::unsupported, "a crop of {} out of {}", wanted[i], extent);
    }
    op.begin[i + 2] = -(cut / 2);
    op.end[i + 2] = -(cut - cut / 2);
  }
  return {{call.add(op, {x.id}), x.channels_at}};
}

}  // namespace strata::keras
