// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/onnx/fold/fold.hpp"
#include "strata/importers/onnx/ops/shapes.hpp"

#include <algorithm>
#include <array>

// Known numbers picked, put together and repeated. A parameter is none of them, whatever numbers it
// begins with: a class token that is repeated for every sample is learnt.
namespace strata::onnx {
namespace {

bool fold_gather(OpContext& context) {
  if (is_learnt_operand(context, 0)) return false;
  const std::optional<Known> data = known(context, 0);
  const std::optional<Known> indices = known(context, 1);
  if (!data || !indices) return false;
  const std::size_t axis = normal_axis(context.integer("axis", 0), data->extents.size());
  Index extents(data->extents.begin(), data->extents.begin() + static_cast<std::ptrdiff_t>(axis));
  extents.insert(extents.end(), indices->extents.begin(), indices->extents.end());
  extents.insert(extents.end(), data->extents.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                 data->extents.end());
  if (!may_compute(context, count_of(extents))) return false;
  const std::int64_t length = data->extents[axis];
  const std::size_t width = indices->extents.size();
  Numbers numbers;
  bool is_known = true;
  for_each_index(extents, [&](const Index& index) {
    const auto middle = index.begin() + static_cast<std::ptrdiff_t>(axis);
    const Index inner(middle, middle + static_cast<std::ptrdiff_t>(width));
    const Number picked = (*indices->numbers)[place_in(indices->extents, inner)];
    is_known = is_known && !picked.is_real() && picked.is_plain();
    if (!is_known) return;
    std::int64_t at = picked.whole().factor;
    if (at < 0) at += length;
    if (at < 0 || at >= length) {
      fail(ErrorKind::input, "index {} of an axis of extent {}", picked.whole().factor, length);
    }
    Index from(index.begin(), middle);
    from.push_back(at);
    from.insert(from.end(), middle + static_cast<std::ptrdiff_t>(width), index.end());
    numbers.push_back((*data->numbers)[place_in(data->extents, from)]);
  });
  if (!is_known) return false;
  return set_known(context, 0, context.dtype(0), extents, std::move(numbers));
}

bool fold_concat(OpContext& context) {
  std::vector<Known> parts;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (is_learnt_operand(context, i)) return false;
    std::optional<Known> part = known(context, i);
    if (!part || part->extents.size() != context.rank(0)) return false;
    parts.push_back(std::move(*part));
  }
  if (parts.empty()) return false;
  const std::size_t axis = normal_axis(context.integer("axis", 1), parts.front().extents.size());
  Index extents = parts.front().extents;
  extents[axis] = 0;
  for (const Known& part : parts) {
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (i != axis && part.extents[i] != extents[i]) return false;
    }
    extents[axis] = checked_add(extents[axis], part.extents[axis]);
  }
  if (!may_compute(context, count_of(extents))) return false;
  Numbers numbers;
  for_each_index(extents, [&](const Index& index) {
    Index from = index;
    const Known* part = parts.data();
    for (; from[axis] >= part->extents[axis]; ++part) from[axis] -= part->extents[axis];
    std::int64_t place = 0;
    for (std::size_t i = 0; i < from.size(); ++i) place = place * part->extents[i] + from[i];
    numbers.push_back((*part->numbers)[static_cast<std::size_t>(place)]);
  });
  return set_known(context, 0, context.dtype(0), extents, std::move(numbers));
}

// The positions that a slice takes of one axis, as NumPy counts them.
std::optional<Index> positions_of(Dim begin, Dim end, std::int64_t step, std::int64_t extent) {
  if (!begin.is_number() || !end.is_number() || step == 0) return std::nullopt;
  const auto from_begin = [extent](std::int64_t at) { return at < 0 ? at + extent : at; };
  Index positions;
  if (step > 0) {
    const std::int64_t last = std::clamp<std::int64_t>(from_begin(end.factor), 0, extent);
    for (std::int64_t at = std::clamp<std::int64_t>(from_begin(begin.factor), 0, extent); at < last;
         at += std::min(step, extent)) {
      positions.push_back(at);
    }
  } else {
    const std::int64_t last = std::clamp<std::int64_t>(from_begin(end.factor), -1, extent - 1);
    for (std::int64_t at = std::clamp<std::int64_t>(from_begin(begin.factor), -1, extent - 1);
         at > last; at += std::max(step, -extent)) {
      positions.push_back(at);
    }
  }
  return positions;
}

bool fold_slice(OpContext& context) {
  if (is_learnt_operand(context, 0)) return false;
  const std::optional<Known> data = known(context, 0);
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    if (context.has(i) && context.numbers(i) == nullptr) return false;
  }
  if (!data || count_of(data->extents) == 0) return false;
  const Slice slice = slice_of(context);
  std::vector<Index> positions(data->extents.size());
  for (std::size_t axis = 0; axis < positions.size(); ++axis) {
    for (std::int64_t at = 0; at < data->extents[axis]; ++at) positions[axis].push_back(at);
  }
  for (std::size_t i = 0; i < slice.axes.size(); ++i) {
    const std::size_t axis = normal_axis(slice.axes[i], positions.size());
    const std::optional<Index> taken =
        positions_of(slice.begin[i], slice.end[i], slice.step[i], data->extents[axis]);
    if (!taken) return false;
    positions[axis] = *taken;
  }
  Index extents;
  for (const Index& axis : positions) extents.push_back(static_cast<std::int64_t>(axis.size()));
  if (!may_compute(context, count_of(extents))) return false;
  Numbers numbers;
  for_each_index(extents, [&](const Index& index) {
    Index from(index.size());
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      from[axis] = positions[axis][static_cast<std::size_t>(index[axis])];
    }
    numbers.push_back((*data->numbers)[place_in(data->extents, from)]);
  });
  return set_known(context, 0, context.dtype(0), extents, std::move(numbers));
}

bool fold_split(OpContext& context) {
  if (is_learnt_operand(context, 0)) return false;
  const std::optional<Known> data = known(context, 0);
  if (!data || context.output_count() == 0) return false;
  if (context.has(1) && context.numbers(1) == nullptr) return false;
  const std::size_t axis = normal_axis(context.integer("axis", 0), data->extents.size());
  std::vector<std::int64_t> sizes = split_sizes(context, axis);
  const auto parts = static_cast<std::int64_t>(context.output_count());
  if (sizes.empty()) {
    sizes.assign(static_cast<std::size_t>(parts), data->extents[axis] / parts);
  }
  std::int64_t begin = 0;
  for (std::size_t part = 0; part < sizes.size(); ++part) {
    Index extents = data->extents;
    extents[axis] = sizes[part];
    const std::int64_t end = checked_add(begin, sizes[part]);
    if (sizes[part] < 0 || end > data->extents[axis] || !may_compute(context, count_of(extents))) {
      return false;
    }
    Numbers numbers;
    for_each_index(extents, [&](const Index& index) {
      Index from = index;
      from[axis] += begin;
      numbers.push_back((*data->numbers)[place_in(data->extents, from)]);
    });
    if (!set_known(context, part, context.dtype(0), extents, std::move(numbers))) return false;
    begin = end;
  }
  return true;
}

bool set_repeated(OpContext& context, const Known& data, const Index& extents) {
  if (data.extents.size() > extents.size() || !may_compute(context, count_of(extents)))
    return false;
  Numbers numbers;
  for_each_index(extents, [&](const Index& index) {
    Index from(index.end() - static_cast<std::ptrdiff_t>(data.extents.size()), index.end());
    for (std::size_t axis = 0; axis < from.size(); ++axis) from[axis] %= data.extents[axis];
    numbers.push_back((*data.numbers)[place_in(data.extents, from)]);
  });
  return set_known(context, 0, context.dtype(0), extents, std::move(numbers));
}

// The second input of Expand and Tile as plain numbers.
std::optional<Index> plain_numbers(OpContext& context, std::size_t input) {
  const KnownNumbers numbers = context.numbers(input);
  if (numbers == nullptr) return std::nullopt;
  Index plain;
  for (const Number number : *numbers) {
    if (!number.is_plain() || number.is_real() || number.whole().factor < 0) return std::nullopt;
    plain.push_back(number.whole().factor);
  }
  return plain;
}

bool fold_expand(OpContext& context) {
  if (is_learnt_operand(context, 0)) return false;
  const std::optional<Known> data = known(context, 0);
  const std::optional<Index> target = plain_numbers(context, 1);
  if (!data || !target || count_of(data->extents) == 0) return false;
  Index extents = target->size() >= data->extents.size() ? *target : data->extents;
  const std::size_t lead_target = extents.size() - target->size();
  const std::size_t lead_data = extents.size() - data->extents.size();
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const std::int64_t asked = axis < lead_target ? 1 : (*target)[axis - lead_target];
    const std::int64_t has = axis < lead_data ? 1 : data->extents[axis - lead_data];
    if (asked != has && asked != 1 && has != 1) return false;
    extents[axis] = has == 1 ? asked : has;
  }
  return set_repeated(context, *data, extents);
}

bool fold_tile(OpContext& context) {
  if (is_learnt_operand(context, 0)) return false;
  const std::optional<Known> data = known(context, 0);
  const std::optional<Index> repeats = plain_numbers(context, 1);
  if (!data || !repeats || repeats->size() != data->extents.size()) return false;
  if (count_of(data->extents) == 0) return false;
  Index extents = data->extents;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    extents[axis] = checked_mul(extents[axis], (*repeats)[axis]);
  }
  return set_repeated(context, *data, extents);
}

bool fold_non_zero(OpContext& context) {
  const std::optional<Known> data = known(context, 0);
  if (!data || !may_compute(context, count_of(data->extents))) return false;
  std::vector<Numbers> rows_found(data->extents.size());
  bool is_known = true;
  std::int64_t found = 0;
  for_each_index(data->extents, [&](const Index& index) {
    const Number number = (*data->numbers)[place_in(data->extents, index)];
    is_known = is_known && number.is_plain();
    if (number.is(0)) return;
    ++found;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      rows_found[axis].emplace_back(Dim(index[axis]));
    }
  });
  if (!is_known) return false;
  Numbers numbers;
  for (const Numbers& row : rows_found) numbers.insert(numbers.end(), row.begin(), row.end());
  const auto rank = static_cast<std::int64_t>(data->extents.size());
  return set_known(context, 0, DType::int64, {rank, found}, std::move(numbers));
}

constexpr std::array movement_fold_rows = {
    FoldRow{"Gather", fold_gather},    FoldRow{"Concat", fold_concat}, FoldRow{"Slice", fold_slice},
    FoldRow{"Split", fold_split},      FoldRow{"Expand", fold_expand}, FoldRow{"Tile", fold_tile},
    FoldRow{"NonZero", fold_non_zero},
};

}  // namespace

std::span<const FoldRow> movement_folds() { return movement_fold_rows; }

}  // namespace strata::onnx
