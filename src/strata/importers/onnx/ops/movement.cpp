// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/batch.hpp"
#include "strata/importers/onnx/ops/ops.hpp"
#include "strata/importers/onnx/ops/shapes.hpp"

#include <algorithm>
#include <array>

namespace strata::onnx {
namespace {

template <Shape (*shape_of)(OpContext&)>
void lower_view(OpContext& context) {
  const Shape shape = shape_of(context);
  const DraftId y = context.reshaped(context.tensor(0), shape, "");
  if (context.batch_offset > 1) context.draft().tensors[y].batch_offset = context.batch_offset;
  context.set_moved(0, y);
}

// Where the target is computed from data, the file may still say the result.
void lower_reshape(OpContext& context) {
  if (!context.has(1) || context.numbers(1) != nullptr) return lower_view<reshape_target>(context);
  const std::optional<TensorType> declared = context.declared_type(0);
  if (!declared) {
    fail(ErrorKind::unsupported, "the target shape is not known before the network runs");
  }
  context.set_moved(0, context.reshaped(context.tensor(0), declared->shape, ""));
}

void lower_transpose(OpContext& context) {
  const Axes permutation = permutation_of(context);
  if (std::is_sorted(permutation.begin(), permutation.end())) return context.pass_on(0, 0);
  context.set_moved(0, context.transposed(context.tensor(0), permutation, ""));
}

// A token that stands before every sample of an opened batch is repeated for each.
void follow_batch(OpContext& context, std::vector<DraftId>& parts, std::size_t joined) {
  const Batch& batch = context.session().batch;
  if (!batch.is_from_number() || batch.file_value != 1) return;
  Draft& draft = context.draft();
  const Shape first = draft.shape(parts.front());
  for (std::size_t axis = 0; axis < first.size(); ++axis) {
    if (axis == joined) continue;
    const bool has_batch = std::any_of(parts.begin(), parts.end(), [&](DraftId part) {
      const Shape& shape = draft.shape(part);
      return axis < shape.size() && shape[axis] == batch.dim;
    });
    if (!has_batch) continue;
    for (DraftId& part : parts) {
      Shape shape = draft.shape(part);
      if (axis >= shape.size() || !shape[axis].is(1)) continue;
      shape[axis] = batch.dim;
      part = context.add(Expand{shape}, {part}, {}, "repeat");
    }
  }
}

void lower_concat(OpContext& context) {
  const std::size_t axis = normal_axis(context.integer("axis", 1), context.rank(0));
  std::vector<DraftId> parts;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    // An empty cache of earlier tokens adds nothing.
    const bool is_empty =
        context.is_constant(i) && axis < context.rank(i) && context.shape(i)[axis].is(0);
    if (!is_empty) parts.push_back(context.tensor(i));
  }
  if (parts.empty()) fail(ErrorKind::unsupported, "an empty tensor");
  if (parts.size() == 1) return context.set(0, parts.front());
  follow_batch(context, parts, axis);
  const DraftId y = context.add(Concat{static_cast<std::int64_t>(axis)}, parts);
  context.set_moved(0, y, context.input_count());
}

void lower_split(OpContext& context) {
  const std::size_t axis = normal_axis(context.integer("axis", 0), context.rank(0));
  const auto parts = static_cast<std::int64_t>(context.output_count());
  Split op{static_cast<std::int64_t>(axis), split_sizes(context, axis), 0};
  if (parts == 1) return context.pass_on(0, 0);
  if (op.sizes.empty()) op.parts = parts;
  if (!op.sizes.empty() && op.sizes.size() != context.output_count()) {
    fail(ErrorKind::input, "{} sizes for {} outputs", op.sizes.size(), parts);
  }
  const std::vector<DraftId> made = context.add_all(std::move(op), std::array{context.tensor(0)});
  for (std::size_t i = 0; i < made.size(); ++i) context.set_moved(i, made[i]);
}

// What a slice costs hangs on how much it takes, not on where: where the positions are computed
// from data, the file may still say the result.
Slice declared_slice(OpContext& context) {
  const std::optional<TensorType> declared = context.declared_type(0);
  const Shape& x = context.shape(0);
  if (!declared || declared->shape.size() != x.size()) {
    fail(ErrorKind::unsupported, "starts and ends are not known before the network runs");
  }
  Slice slice;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    if (declared->shape[axis] == x[axis]) continue;
    slice.axes.push_back(static_cast<std::int64_t>(axis));
    slice.begin.push_back(0);
    slice.end.push_back(declared->shape[axis]);
    slice.step.push_back(1);
  }
  return slice;
}

bool has_known_positions(OpContext& context) {
  for (std::size_t input = 1; input < context.input_count(); ++input) {
    if (context.has(input) && context.numbers(input) == nullptr) return false;
  }
  return true;
}

void lower_slice(OpContext& context) {
  const Slice op = has_known_positions(context) ? slice_of(context) : declared_slice(context);
  if (op.axes.empty()) return context.pass_on(0, 0);
  context.set_moved(0, context.add(op, {context.tensor(0)}));
}

void lower_expand(OpContext& context) {
  const std::vector<Dim> written = context.dims(1, "the target shape");
  const Shape x = context.shape(0);
  Shape target{std::span<const Dim>(written)};
  for (const Dim extent : target) {
    if (extent.factor < 1) {
      fail(ErrorKind::unsupported, "an extent of {} in the target shape",
           context.symbols().text(extent));
    }
  }
  open_expanded_batch(context, x, target);
  const DraftId tensor = context.tensor(0);
  const DraftId y = context.add(Expand{target}, {tensor});
  // Nothing to repeat: the input itself. The node that was only asked for its shape is taken out
  // later.
  context.set(0, context.draft().shape(y) == x ? tensor : y);
}

// Repeats along axes of extent 1 are an expansion; along others, each becomes one in front of it.
void lower_tile(OpContext& context) {
  const std::vector<Dim> repeats = context.dims(1, "the repeats");
  const Shape x = context.shape(0);
  if (repeats.size() != x.size()) {
    fail(ErrorKind::input, "{} repeats for {} axes", repeats.size(), x.size());
  }
  Shape split;
  Shape expanded;
  Shape joined;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    if (repeats[axis].factor < 1) fail(ErrorKind::unsupported, "an empty tensor");
    const bool is_repeated = !repeats[axis].is(1);
    if (is_repeated && !x[axis].is(1)) {
      split.push_back(1);
      expanded.push_back(repeats[axis]);
    }
    split.push_back(x[axis]);
    expanded.push_back(is_repeated && x[axis].is(1) ? repeats[axis] : x[axis]);
    joined.push_back(context.symbols().multiply(x[axis], repeats[axis]));
  }
  if (joined == x) return context.pass_on(0, 0);
  const DraftId parted = context.reshaped(context.tensor(0), split, "split");
  const DraftId repeated = context.add(Expand{expanded}, {parted}, {}, "repeat");
  context.set(0, context.reshaped(repeated, joined, "join"));
}

std::vector<std::int64_t> written_pads(OpContext& context) {
  if (context.has(1)) return context.whole_numbers(1, "the padding");
  for (const std::string_view name : {"pads", "paddings"}) {
    if (const auto pads = context.integers(name)) return *pads;
  }
  fail(ErrorKind::input, "the padding is missing");
}

void lower_pad(OpContext& context) {
  const std::size_t rank = context.rank(0);
  const std::vector<std::int64_t> pads = written_pads(context);
  std::vector<std::size_t> axes;
  if (context.has(3)) {
    for (const std::int64_t axis : context.whole_numbers(3, "axes")) {
      axes.push_back(normal_axis(axis, rank));
    }
  } else {
    for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  if (pads.size() != 2 * axes.size()) {
    fail(ErrorKind::input, "the padding has {} entries for {} axes", pads.size(), axes.size());
  }
  Pad op{Axes(rank, 0), Axes(rank, 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    op.begin[axes[i]] = pads[i];
    op.end[axes[i]] = pads[axes.size() + i];
  }
  const bool is_nothing =
      std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; });
  if (is_nothing) return context.pass_on(0, 0);
  context.set(0, context.add(op, {context.tensor(0)}));
}

template <bool is_inverse>
void lower_space_to_depth(OpContext& context) {
  const SpaceToDepth op{context.integer("blocksize", 0), is_inverse};
  context.set(0, context.add(op, {context.tensor(0)}));
}

// The lower triangle alone is what a causal mask is; the strict upper one is its opposite.
void lower_trilu(OpContext& context) {
  const bool is_upper = context.integer("upper", 1) != 0;
  const double diagonal = context.has(1) ? context.scalar(1).value_or(0) : 0;
  if (context.is_constant(0)) {
    const Constant* const given = context.constant(0);
    context.set(0, Constant{.type = given->type, .is_causal_mask = diagonal == (is_upper ? 1 : 0)});
    return;
  }
  const DraftId x = context.tensor(0);
  if (context.draft().tensors[x].is_fixed) {
    context.set(
        0, Constant{.type = context.type(0), .is_causal_mask = diagonal == (is_upper ? 1 : 0)});
    return;
  }
  set_uncounted(context, {context.type(0)});
}

constexpr std::array movement_rows = {
    OpRow{"Concat", lower_concat}, OpRow{"DepthToSpace", lower_space_to_depth<true>},
    OpRow{"Expand", lower_expand}, OpRow{"Flatten", lower_view<flattened_shape>},
    OpRow{"Pad", lower_pad},       OpRow{"Reshape", lower_reshape},
    OpRow{"Slice", lower_slice},   OpRow{"SpaceToDepth", lower_space_to_depth<false>},
    OpRow{"Split", lower_split},   OpRow{"Squeeze", lower_view<squeezed_shape>},
    OpRow{"Tile", lower_tile},     OpRow{"Transpose", lower_transpose},
    OpRow{"Trilu", lower_trilu},   OpRow{"Unsqueeze", lower_view<unsqueezed_shape>},
};

}  // namespace

std::span<const OpRow> movement_ops() { return movement_rows; }

}  // namespace strata::onnx
