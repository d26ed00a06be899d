// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/ops.hpp"

#include <array>

namespace strata::onnx {
namespace {

bool is_embedding(OpContext& context) {
  const Constant* const table = context.constant(0);
  return table != nullptr && table->is_learnt && table->type.shape.size() == 2 &&
         context.integer("axis", 0) == 0 && is_floating(table->type.dtype) &&
         !is_floating(context.dtype(1));
}

void lower_gather(OpContext& context) {
  const std::int64_t axis = context.integer("axis", 0);
  if (!is_embedding(context)) {
    const DraftId data = context.tensor(0);
    context.set_moved(0, context.add(Gather{axis}, {data, context.tensor(1)}), 2);
    return;
  }
  const Shape table = context.shape(0);
  const Embedding op{number_of(context, table[0], "the rows of the table"),
                     number_of(context, table[1], "the width of the table")};
  const DraftId weight = context.weight(0, table, "weight");
  context.set(0, context.add(op, {context.tensor(1)}, {weight}));
}

// data[indices] with the leading axes of the data joined: as many rows as indices are read.
DraftId gathered_rows(OpContext& context, std::size_t joined_axes, const Shape& indices) {
  const Shape data = context.shape(0);
  const std::span<const Dim> extents = data;
  Shape rows = {elements_of(Shape(extents.first(joined_axes)), context.symbols())};
  for (const Dim extent : extents.subspan(joined_axes)) rows.push_back(extent);
  const DraftId table = context.reshaped(context.tensor(0), rows, "rows");
  return context.add(Gather{0}, {table, context.reshaped(context.tensor(1), indices, "indices")});
}

void lower_gather_elements(OpContext& context) {
  const Shape indices = context.shape(1);
  if (indices.size() != context.rank(0)) {
    fail(ErrorKind::input, "indices have {} axes, the data {}", indices.size(), context.rank(0));
  }
  context.set_moved(0, gathered_rows(context, context.rank(0), indices), 2);
}

// Indices of one number each, within a batch or not, pick rows; longer ones are not counted.
void lower_gather_nd(OpContext& context) {
  const Shape data = context.shape(0);
  const Shape indices = context.shape(1);
  const std::int64_t batch = context.integer("batch_dims", 0);
  if (indices.empty() || batch < 0 || batch >= static_cast<std::int64_t>(data.size())) {
    fail(ErrorKind::input, "batch_dims = {} with {} axes of data and {} of indices", batch,
         data.size(), indices.size());
  }
  const std::int64_t depth = number_of(context, indices.back(), "the length of an index");
  const auto picked = static_cast<std::size_t>(batch) + static_cast<std::size_t>(depth);
  if (depth < 1 || picked > data.size()) {
    fail(ErrorKind::input, "indices of {} numbers into {} axes", depth, data.size());
  }
  const std::span<const Dim> extents = indices;
  Shape places(extents.first(indices.size() - 1));
  if (depth == 1) return context.set(0, gathered_rows(context, picked, places));
  for (std::size_t axis = picked; axis < data.size(); ++axis) places.push_back(data[axis]);
  set_uncounted(context, {{places, context.dtype(0)}});
}

constexpr std::array lookup_rows = {
    OpRow{"Gather", lower_gather},
    OpRow{"GatherElements", lower_gather_elements},
    OpRow{"GatherND", lower_gather_nd},
};

}  // namespace

std::span<const OpRow> lookup_ops() { return lookup_rows; }

}  // namespace strata::onnx
