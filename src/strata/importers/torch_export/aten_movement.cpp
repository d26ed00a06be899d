// SPDX-License-Identifier: Apache-2.0
// What moves or renames numbers.
#include "strata/base/error.hpp"
#include "strata/importers/torch_export/op_call.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace strata::torch_export {
namespace {

void translate_identity(OpCall& call) {
  call.add("Identity", {call.tensor(call.has("self") ? "self" : "input")});
}

void translate_cast(OpCall& call) {
  const std::string from = call.value("self");
  const std::int64_t type = call.type_of(call.output());
  if (call.type_of(from) == type) return translate_identity(call);
  call.add("Cast", {call.tensor("self")}, {{"to", type}});
}

void translate_view(OpCall& call) {
  const std::string from = call.value("self");
  call.add_reshape(from, call.model_name(from));
}

void translate_flatten(OpCall& call) {
  const std::size_t axes = call.rank(call.value("self"));
  const std::size_t first = call.axis("start_dim", axes, 0);
  const std::size_t last = call.axis("end_dim", axes, -1);
  if (first == 1 && last + 1 == axes)
    return call.add("Flatten", {call.tensor("self")}, {{"axis", std::int64_t{1}}});
  translate_view(call);
}

void translate_transpose(OpCall& call) {
  const std::size_t axes = call.rank(call.value("self"));
  Integers order(axes);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (call.target().starts_with("aten.t.")) {
    if (axes == 2) std::swap(order[0], order[1]);
  } else {
    std::swap(order[call.axis("dim0", axes)], order[call.axis("dim1", axes)]);
  }
  call.add("Transpose", {call.tensor("self")}, {{"perm", order}});
}

void translate_permute(OpCall& call) {
  const auto axes = static_cast<std::int64_t>(call.rank(call.value("self")));
  Integers order = call.integers("dims");
  for (std::int64_t& axis : order) axis += axis < 0 ? axes : 0;
  call.add("Transpose", {call.tensor("self")}, {{"perm", order}});
}

void translate_concat(OpCall& call) {
  std::vector<std::string> inputs;
  for (const std::string& value : call.values("tensors")) inputs.push_back(call.model_name(value));
  const auto axis = static_cast<std::int64_t>(call.axis("dim", call.rank(call.output())));
  call.add("Concat", std::move(inputs), {{"axis", axis}});
}

/// split, split_with_sizes, chunk and unbind: the sizes of the outputs say how.
void translate_split(OpCall& call) {
  const std::size_t axis = call.axis("dim", call.rank(call.value("self")));
  Integers lengths;
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < call.output_count(); ++i) {
    const std::vector<Size>& sizes = call.sizes(call.output(i));
    if (axis >= sizes.size() || !sizes[axis].is_number())
      fail(ErrorKind::unsupported, "a split along an axis whose size is not a number");
    lengths.push_back(sizes[axis].number);
    outputs.push_back(call.output(i));
  }
  call.add_to("Split", {call.tensor("self"), call.constant(lengths)}, std::move(outputs),
              {{"axis", static_cast<std::int64_t>(axis)}});
}

void translate_select(OpCall& call) {
  const auto axis = static_cast<std::int64_t>(call.axis("dim", call.rank(call.value("self"))));
  const std::int64_t index = call.integer("index", 0);
  call.add("Gather", {call.tensor("self"), call.scalar(static_cast<double>(index), 7)},
           {{"axis", axis}});
}

void translate_slice(OpCall& call) {
  const auto axis = static_cast<std::int64_t>(call.axis("dim", call.rank(call.value("self"))));
  const std::int64_t start = call.integer("start", 0);
  const std::int64_t end = call.integer("end", std::numeric_limits<std::int64_t>::max());
  call.add("Slice", {call.tensor("self"), call.constant({start}), call.constant({end}),
                     call.constant({axis}), call.constant({call.integer("step", 1)})});
}

/// Sizes that stay as they are are 1: a broadcast.
void translate_expand(OpCall& call) {
  const std::vector<Size>& before = call.sizes(call.value("self"));
  std::vector<Size> wanted = call.sizes(call.output());
  const std::size_t missing = wanted.size() - std::min(wanted.size(), before.size());
  for (std::size_t i = missing; i < wanted.size(); ++i)
    if (before[i - missing] == wanted[i]) wanted[i] = {.number = 1};
  call.add("Expand", {call.tensor("self"), call.shape_tensor(wanted)});
}

void translate_index(OpCall& call) {
  const std::vector<std::string> indices = call.values("indices");
  if (indices.size() != 1)
    fail(ErrorKind::unsupported, "indexing by {} tensors at once", indices.size());
  call.add("Gather", {call.tensor("self"), call.model_name(indices.front())},
           {{"axis", std::int64_t{0}}});
}

void translate_pad(OpCall& call) {
  const std::size_t axes = call.rank(call.value("self"));
  const Integers given = call.integers("pad");  // from the last axis, two of each
  if (given.size() > 2 * axes || given.size() % 2 != 0)
    fail(ErrorKind::input, "{} paddings for {} axes", given.size(), axes);
  Integers pads(2 * axes, 0);
  for (std::size_t i = 0; i < given.size() / 2; ++i) {
    pads[axes - 1 - i] = given[2 * i];
    pads[2 * axes - 1 - i] = given[2 * i + 1];
  }
  call.add("Pad", {call.tensor("self"), call.constant(pads)});
}

constexpr std::array movement_table = {
    AtenRow{"aten.contiguous", translate_identity},
    AtenRow{"aten.clone", translate_identity},
    AtenRow{"aten.alias", translate_identity},
    AtenRow{"aten.detach", translate_identity},
    AtenRow{"aten.lift_fresh_copy", translate_identity},
    AtenRow{"aten.to", translate_cast},
    AtenRow{"aten._to_copy", translate_cast},
    AtenRow{"aten.view", translate_view},
    AtenRow{"aten._unsafe_view", translate_view},
    AtenRow{"aten.reshape", translate_view},
    AtenRow{"aten.unflatten", translate_view},
    AtenRow{"aten.squeeze", translate_view},
    AtenRow{"aten.unsqueeze", translate_view},
    AtenRow{"aten.flatten", translate_flatten},
    AtenRow{"aten.transpose", translate_transpose},
    AtenRow{"aten.t", translate_transpose},
    AtenRow{"aten.permute", translate_permute},
    AtenRow{"aten.cat", translate_concat},
    AtenRow{"aten.split", translate_split},
    AtenRow{"aten.split_with_sizes", translate_split},
    AtenRow{"aten.chunk", translate_split},
    AtenRow{"aten.select", translate_select},
    AtenRow{"aten.slice", translate_slice},
    AtenRow{"aten.expand", translate_expand},
    AtenRow{"aten.index", translate_index},
    AtenRow{"aten.pad", translate_pad},
    AtenRow{"aten.constant_pad_nd", translate_pad},
};

}  // namespace

std::span<const AtenRow> movement_rows() { return movement_table; }

}  // namespace strata::torch_export
