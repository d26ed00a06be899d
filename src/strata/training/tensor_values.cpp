// SPDX-License-Identifier: Apache-2.0
#include "strata/training/tensor_values.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

ValueKind kind_of(TensorKind kind) {
  switch (kind) {
    case TensorKind::input: return ValueKind::input;
    case TensorKind::activation: return ValueKind::feature;
    case TensorKind::parameter: return ValueKind::weight;
    case TensorKind::buffer:
    case TensorKind::constant: return ValueKind::constant;
  }
  return ValueKind::feature;
}

bool is_stored(TensorKind kind) {
  return kind != TensorKind::input && kind != TensorKind::activation;
}

}  // namespace

std::int64_t row_bytes(const BoundTensor& tensor, const Parting& parting, bool is_stored,
                       std::int64_t bytes) {
  const auto extent = [&](std::size_t axis) { return axis < tensor.axes() ? tensor[axis] : 1; };
  std::int64_t rows = extent(0);
  if (is_stored) {
    rows /= parting.cut == Parting::Cut::gates ? parting.count : 1;
    // A stack of matrices (weights of its own for every place) has the rows of each.
    for (std::size_t axis = 1; (tensor.axes() == 3 || extent(0) == 1) && axis + 1 < tensor.axes();
         ++axis)
      rows *= tensor[axis];
  } else if (parting.cut == Parting::Cut::cells) {
    rows = extent(1);  // one state of [layers, N, width]
  } else if (tensor.axes() >= 4) {
    rows *= extent(2);
  } else if (tensor.axes() == 3 && parting.cut == Parting::Cut::whole) {
    rows *= extent(1);
  }
  rows = std::max<std::int64_t>(rows, 1);
  return std::max<std::int64_t>((bytes - 1) / rows + 1, 1);
}

TensorValues::TensorValues(ProgramWriter& writer, const BoundGraph& bound,
                           const Unrolling& unrolling)
    : writer_(writer), bound_(bound), unrolling_(unrolling), places_(bound.tensors.size()) {}

void TensorValues::make(TensorId root) {
  const Tensor& tensor = bound_.graph->tensors[root];
  const BoundTensor& bound = bound_.tensors[root];
  const Parting parting = unrolling_.parting(root);
  Value value{.kind = kind_of(tensor.kind),
              .is_given = tensor.kind != TensorKind::activation,
              .tensor = root};
  ValueIds& place = places_[root];
  place.count = parting.count;
  for (std::uint32_t part = 0; part < parting.count; ++part) {
    value.part = part;
    // Pieces of equal size, and exact in sum whatever the tensor is.
    const auto share = [&](std::int64_t n) {
      return checked_mul(bound.bytes / parting.count, n) +
             bound.bytes % parting.count * n / parting.count;
    };
    value.bytes = std::max<std::int64_t>(share(part + std::int64_t{1}) - share(part), 1);
    value.row_bytes = row_bytes(bound, parting, is_stored(tensor.kind), value.bytes);
    const ValueId id = writer_.add(value);
    if (part == 0) place.first = id;
  }
}

ValueIds TensorValues::of(TensorId tensor) {
  const TensorId root = unrolling_.root[tensor];
  if (places_[root].count == 0) make(root);
  return places_[root];
}

ValueIds TensorValues::at(TensorId tensor, std::uint32_t time) {
  const Parting parting = unrolling_.parting(tensor);
  const ValueIds all = of(tensor);
  if (parting.cut != Parting::Cut::time || time == 0) return all;
  const std::uint32_t begin = (time - 1) * parting.per_time;
  STRATA_CHECK(begin + parting.per_time <= all.count, "the time step exists");
  return all.part(begin, parting.per_time);
}

ValueIds TensorValues::piece(TensorId tensor, std::uint32_t index, std::uint32_t count) {
  const ValueIds all = of(tensor);
  return all.count == count ? all.part(index, 1) : all;
}

void TensorValues::bind(TensorId tensor, std::vector<ValueId> ids) {
  lists_.push_back(std::move(ids));
  places_[unrolling_.root[tensor]] = {0, static_cast<std::uint32_t>(lists_.back().size()),
                                      lists_.back().data()};
}

void TensorValues::forget_features() {
  for (TensorId id = 0; id < places_.size(); ++id) {
    if (!is_stored(bound_.graph->tensors[id].kind)) places_[id] = {};
  }
}

ValueId TensorValues::looked_up(TensorId table, std::int64_t bytes) {
  const BoundTensor& bound = bound_.tensors[table];
  return writer_.add({.kind = kind_of(bound_.graph->tensors[table].kind),
                      .is_given = true,
                      .tensor = table,
                      .part = ++look_ups_,
                      .bytes = bytes,
                      .row_bytes = std::min(bytes, row_bytes(bound, {}, true, bound.bytes))});
}

}  // namespace strata
