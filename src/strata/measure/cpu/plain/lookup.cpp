// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/loops.hpp"
#include "strata/measure/cpu/plain/stored_numbers.hpp"

#include <algorithm>
#include <cstring>

/// Embedding and gather.
namespace strata::cpu_training::plain {
namespace {

/// Rows of a table [outer, entries, width] picked by indices: Y is [outer, picks, width].
struct Lookup {
  std::int64_t outer = 1, entries = 0, picks = 0, width = 1;
  std::size_t table_input = 0, index_input = 1;
  DType index_type = DType::int64;
  std::int64_t element_bytes = 4;

  /// The entries that are picked, in scratch memory. As in NumPy, negative indices count from the
  /// end.
  const std::int64_t* picked_entries(const NodeMemory& m) const {
    auto* const picked = numbers<std::int64_t>(m.scratch);
    read_row(index_type, m.inputs[index_input], 0, 1, picks, picked);
    for (std::int64_t i = 0; i < picks; ++i) {
      const std::int64_t entry = picked[i] < 0 ? picked[i] + entries : picked[i];
      if (entry < 0 || entry >= entries) {
        fail(ErrorKind::input, "index {} of a table with {} rows", picked[i], entries);
      }
      picked[i] = entry;
    }
    return picked;
  }
};

void look_up(const Lookup& l, const NodeMemory& m) {
  const std::int64_t* const picked = l.picked_entries(m);
  const auto* const table = numbers<const char>(m.inputs[l.table_input]);
  auto* const y = numbers<char>(m.outputs[0]);
  const std::int64_t bytes = l.width * l.element_bytes;
  parallel_for(l.outer * l.picks, l.width, [&](std::int64_t row) {
    const std::int64_t entry = row / l.picks * l.entries + picked[row % l.picks];
    std::memcpy(y + row * bytes, table + entry * bytes, static_cast<std::size_t>(bytes));
  });
}

/// Several picks may be of one entry, so threads share the columns, not the picks.
template <class T>
void look_up_gradient(const Lookup& l, const NodeMemory& m) {
  T* const gradient = numbers<T>(m.input_gradients[l.table_input]);
  if (gradient == nullptr) return;
  const std::int64_t* const picked = l.picked_entries(m);
  const T* const dy = numbers<T>(m.output_gradients[0]);
  parallel_for(l.outer * l.entries, l.width,
               [&](std::int64_t row) { std::fill_n(gradient + row * l.width, l.width, T(0)); });
  constexpr std::int64_t columns_at_once = 64;
  const std::int64_t blocks = (l.width + columns_at_once - 1) / columns_at_once;
  parallel_for(l.outer * blocks, l.picks * columns_at_once, [&](std::int64_t index) {
    const std::int64_t outer = index / blocks, begin = index % blocks * columns_at_once;
    const std::int64_t end = std::min(l.width, begin + columns_at_once);
    for (std::int64_t pick = 0; pick < l.picks; ++pick) {
      const T* const from = dy + (outer * l.picks + pick) * l.width;
      T* const to = gradient + (outer * l.entries + picked[pick]) * l.width;
      for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
    }
  });
}

KernelPair lookup_kernels(const Lookup& lookup, const NodeContext& context) {
  const bool is_fp64 = context.output().dtype == DType::fp64;
  return {
      .forward = [=](const NodeMemory& m) { look_up(lookup, m); },
      .backward =
          [=](const NodeMemory& m) {
            is_fp64 ? look_up_gradient<double>(lookup, m) : look_up_gradient<float>(lookup, m);
          },
      .needs = {.inputs = true,
                .scratch_bytes = lookup.picks * static_cast<std::int64_t>(sizeof(std::int64_t))}};
}

}  // namespace

KernelPairOrReason make_kernels(const Embedding& op, const NodeContext& context) {
  return lookup_kernels({.entries = op.vocabulary,
                         .picks = context.input().elements,
                         .width = op.width,
                         .table_input = 1,
                         .index_input = 0,
                         .index_type = context.input().dtype,
                         .element_bytes = bytes_per_element(context.output().dtype)},
                        context);
}

KernelPairOrReason make_kernels(const Gather& op, const NodeContext& context) {
  Lookup lookup{.picks = context.input(1).elements,
                .index_type = context.input(1).dtype,
                .element_bytes = bytes_per_element(context.input().dtype)};
  const AxisRows rows(context.input(), op.axis);
  lookup.outer = rows.outer;
  lookup.entries = rows.length;
  lookup.width = rows.inner;
  return lookup_kernels(lookup, context);
}

}  // namespace strata::cpu_training::plain
