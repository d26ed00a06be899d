// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"

#include <array>
#include <optional>

namespace strata::keras {
namespace {

Dim product_of_extents(const Shape& shape, std::size_t first, Symbols& symbols) {
  Dim product = 1;
  for (std::size_t axis = first; axis < shape.size(); ++axis) {
    product = symbols.multiply(product, shape[axis]);
  }
  return product;
}

// Puts what is left in the place of −1.
Shape completed(LayerCall& call, const Shape& from, Shape target) {
  Symbols& symbols = call.net.symbols();
  std::optional<std::size_t> open;
  Dim known = 1;
  for (std::size_t axis = 0; axis < target.size(); ++axis) {
    if (!target[axis].is(-1)) {
      known = symbols.multiply(known, target[axis]);
    } else if (open) {
      fail(ErrorKind::input, "the shape leaves more than one extent open");
    } else {
      open = axis;
    }
  }
  if (!open) return target;
  const std::optional<Dim> rest =
      symbols.divide_exactly(product_of_extents(from, 1, symbols), known);
  if (!rest) {
    fail(ErrorKind::input, "{} does not reshape into {}", call.net.text(from),
         call.net.text(target));
  }
  target[*open] = *rest;
  return target;
}

// Channels stored apart from a space of one place: a row by another name.
bool is_pixel(const LayerCall& call, Value x) {
  if (x.channels_at == 0) return false;
  const Axes permutation = permutation_between(call.rank(x), x.channels_at, 0);
  return moves_nothing(permutation, call.net.stored(x));
}

}  // namespace

// Which numbers stand side by side in a row (N, F) is of no account: whatever reads or writes it
// could have its weights in that order. So rows become images, and images rows, as they are stored.
// Between images and sequences the order counts, and a Transpose comes in where channels are split.
Value reshaped(LayerCall& call, Value x, const Shape& target, std::string_view suffix) {
  const Shape from = call.shape(x);
  const Shape extents = completed(call, from, target);
  Shape full = {from[0]};
  for (const Dim extent : extents) full.push_back(extent);
  const auto to = [&](Value source, std::size_t channels_at) -> Value {
    return {call.add(Reshape{stored_shape(full, channels_at)}, {source.id}, suffix), channels_at};
  };
  if (extents.size() <= 1) return to(x, 0);
  const bool is_image = extents.size() >= 3 && !call.net.is_channels_first();
  if (from.size() <= 2 || is_pixel(call, x)) return to(x, is_image ? 1 : 0);
  if (x.channels_at == 1 && extents.back() == from.back()) return to(x, 1);
  return to(call.plain(x), 0);
}

Value permuted(LayerCall& call, Value x, const Axes& axes, std::string_view suffix) {
  const std::size_t rank = call.rank(x);
  const Shape stored = call.net.stored(x);
  const auto between = [&](std::size_t channels_at) {
    Axes permutation(rank, 0);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      permutation[stored_axis(axis, rank, channels_at)] =
          static_cast<std::int64_t>(stored_axis(call.axis_of(x, axes[axis]), rank, x.channels_at));
    }
    return permutation;
  };
  for (const std::size_t channels_at : {std::size_t{0}, std::size_t{1}}) {
    if (rank < 3 && channels_at > 0) continue;
    const Axes permutation = between(channels_at);
    if (!moves_nothing(permutation, stored)) continue;
    Shape target;
    for (const std::int64_t axis : permutation) target.push_back(stored[axis]);
    return {call.add(Reshape{target}, {x.id}, suffix), channels_at};
  }
  return {call.add(Transpose{between(0)}, {x.id}, suffix), 0};
}

Values make_flatten(LayerCall& call) {
  const Value x = call.only_input();
  if (call.rank(x) == 1) return {{call.add(Reshape{{0, 1}}, {x.id}), 0}};
  return {{call.add(Flatten{}, {x.id}), 0}};
}

Values make_reshape(LayerCall& call) {
  Shape target;
  for (const std::int64_t extent : call.config.numbers({"target_shape", "dims"})) {
    if (extent == 0 || extent < -1) {
      fail(ErrorKind::input, "extents of 'target_shape' must be at least 1 or -1, got {}", extent);
    }
    target.push_back(extent);
  }
  return {reshaped(call, call.only_input(), target)};
}

Values make_permute(LayerCall& call) {
  const Value x = call.only_input();
  Axes axes = {0};
  for (const std::int64_t axis : call.config.numbers({"dims"})) axes.push_back(axis);
  std::array<bool, most_axes> is_taken{};
  if (axes.size() != call.rank(x)) {
    fail(ErrorKind::input, "'dims' has {} entries for {} axes after the batch", axes.size() - 1,
         call.rank(x) - 1);
  }
  for (const std::int64_t axis : axes) {
    bool& is_there = is_taken[call.axis_of(x, axis)];
    if (is_there) fail(ErrorKind::input, "'dims' names axis {} twice", axis);
    is_there = true;
  }
  return {permuted(call, x, axes)};
}

// (N, F) becomes (N, times, F).
Values make_repeat_vector(LayerCall& call) {
  const Value x = call.only_input();
  const Shape shape = call.shape(x);
  if (shape.size() != 2) {
    fail(ErrorKind::input, "expected an input of 2 axes, got {}", call.net.text(shape));
  }
  const std::int64_t times = call.config.whole({"n"});
  if (times < 1) fail(ErrorKind::input, "'n' must be at least 1, got {}", times);
  const TensorId row = call.add(Reshape{{shape[0], 1, shape[1]}}, {x.id}, "row");
  return {{call.add(Expand{{shape[0], times, shape[1]}}, {row}), 0}};
}

}  // namespace strata::keras
