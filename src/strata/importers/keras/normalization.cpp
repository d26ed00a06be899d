// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"

#include <algorithm>

namespace strata::keras {
namespace {

/// The normalised axis of a layer that has one.
std::int64_t only_axis(const Config& config) {
  const std::vector<std::int64_t> axes = config.numbers({"axis"});
  if (axes.size() > 1) {
    fail(ErrorKind::unsupported, "normalisation over {} axes at once", axes.size());
  }
  return axes.empty() ? -1 : axes.front();
}

// The graph normalises axis 1. Features that come last of more than two axes are folded out (no
// number moves); any other axis is brought there by a Transpose, and back.
Value with_channels_second(LayerCall& call, Value x, std::int64_t axis, const Operator& op) {
  const auto stored = static_cast<std::size_t>(call.stored_axis_of(x, axis));
  const Shape shape = call.net.stored(x);
  if (stored == 1) return {call.add(op, {x.id}), x.channels_at};
  if (stored + 1 == shape.size()) {
    const TensorId rows = call.add(Reshape{{-1, shape.back()}}, {x.id}, "rows");
    const TensorId y = call.add(op, {rows});
    return {call.add(Reshape{shape}, {y}, "unfold"), x.channels_at};
  }
  Axes there(shape.size(), 0);
  for (std::size_t i = 0; i < there.size(); ++i) there[i] = static_cast<std::int64_t>(i);
  std::swap(there[1], there[stored]);
  const TensorId moved = call.add(Transpose{there}, {x.id}, "transpose");
  return {call.add(Transpose{there}, {call.add(op, {moved})}, "transpose_back"), x.channels_at};
}

bool are_last(const std::vector<std::size_t>& axes, std::size_t rank) {
  return std::all_of(axes.begin(), axes.end(),
                     [&](std::size_t axis) { return axis + axes.size() >= rank; });
}

std::vector<std::size_t> stored_axes(const LayerCall& call, Value x) {
  std::vector<std::int64_t> axes = call.config.numbers({"axis"});
  if (axes.empty()) axes.push_back(-1);
  std::vector<std::size_t> stored;
  for (const std::int64_t axis : axes) {
    stored.push_back(static_cast<std::size_t>(call.stored_axis_of(x, axis)));
  }
  std::sort(stored.begin(), stored.end());
  stored.erase(std::unique(stored.begin(), stored.end()), stored.end());
  return stored;
}

// Normalises the last axes, in the layout in which they are the last.
Values over_last_axes(LayerCall& call, bool is_rms, bool has_shift) {
  Value x = call.only_input();
  std::vector<std::size_t> axes = stored_axes(call, x);
  if (!are_last(axes, call.rank(x))) {
    x = call.plain(x);
    axes = stored_axes(call, x);
  }
  if (!are_last(axes, call.rank(x))) {
    fail(ErrorKind::unsupported, "normalisation over axes that are not the last of {}",
         call.net.text(call.shape(x)));
  }
  const auto axis = static_cast<std::int64_t>(axes.front());
  const bool has_scale = call.config.truth({"scale"}, true);
  const Operator op = is_rms ? Operator(RmsNorm{.axis = axis, .scale = has_scale})
                             : LayerNorm{.axis = axis, .scale = has_scale, .shift = has_shift};
  return {{call.add(op, {x.id}), x.channels_at}};
}

Values normalize_batch(LayerCall& call, bool is_frozen) {
  const Value x = call.only_input();
  if (call.config.whole({"mode"}, 0) != 0) {
    fail(ErrorKind::unsupported, "batch normalisation of mode {}, expected 0 (per feature)",
         call.config.whole({"mode"}, 0));
  }
  if (is_frozen || !call.is_trainable) {
    call.is_trainable = false;
    call.note(WarningCode::value_assumed,
              "a frozen batch normalisation is counted as if it took statistics of the batch");
  }
  const BatchNorm op{.scale = call.config.truth({"scale"}, true),
                     .shift = call.config.truth({"center"}, true)};
  return {with_channels_second(call, x, only_axis(call.config), op)};
}

Values normalize_groups(LayerCall& call, std::int64_t groups) {
  const GroupNorm op{.groups = groups,
                     .scale = call.config.truth({"scale"}, true),
                     .shift = call.config.truth({"center"}, true)};
  Value x = call.only_input();
  const std::int64_t axis = only_axis(call.config);
  if (call.stored_axis_of(x, axis) != 1) {
    const bool is_last = call.axis_of(x, axis) + 1 == call.rank(x);
    x = call.with_channels_at(x, is_last ? 1 : 0);
    if (call.stored_axis_of(x, axis) != 1) {
      fail(ErrorKind::unsupported, "group normalisation along axis {} of {}", axis,
           call.net.text(call.shape(x)));
    }
  }
  return {{call.add(op, {x.id}), x.channels_at}};
}

}  // namespace

Values make_batch_normalization(LayerCall& call) {
  return normalize_batch(call, call.config.truth({"freeze"}, false));
}

// Of the Keras implementations of Faster R-CNN: statistics, scale and shift all stay as they are.
Values make_fixed_batch_normalization(LayerCall& call) { return normalize_batch(call, true); }

Values make_layer_normalization(LayerCall& call) {
  return over_last_axes(call, call.config.truth({"rms_scaling"}, false),
                        call.config.truth({"center"}, true));
}

Values make_rms_normalization(LayerCall& call) { return over_last_axes(call, true, false); }

Values make_group_normalization(LayerCall& call) {
  const std::int64_t groups = call.config.whole({"groups"}, 32);
  return normalize_groups(call, groups == -1 ? 0 : groups);
}

Values make_instance_normalization(LayerCall& call) { return normalize_groups(call, 0); }

Values make_unit_normalization(LayerCall& call) {
  const Value x = call.only_input();
  Axes axes;
  for (const std::size_t axis : stored_axes(call, x)) {
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  const TensorId length =
      call.add(Reduce{.kind = ReduceKind::l2, .axes = axes, .keep_axes = true}, {x.id}, "length");
  return {{call.add(Elementwise{ElementwiseKind::divide}, {x.id, length}), x.channels_at}};
}

Values make_local_response_normalization(LayerCall& call) {
  const Value x = call.image(call.only_input());
  return {{call.add(LocalResponseNorm{.size = call.config.whole({"n", "size"}, 5)}, {x.id}),
           x.channels_at}};
}

}  // namespace strata::keras
