// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/number_rows.hpp"
#include "strata/measure/cpu/training/strided_copy.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace strata::cpu_training {
namespace {

/// Rows of a table [outer, entries, width] picked by numbers: Y is [outer, picks, width].
struct Lookup {
  std::int64_t outer = 1, entries = 0, picks = 0, width = 1;
  std::size_t table = 0, numbers = 1;  // which inputs
  DType number_type = DType::int64;
  std::int64_t element_bytes = 4;

  /// As in NumPy, numbers below zero count from the end.
  std::int64_t entry(const NodeMemory& m, std::int64_t pick) const {
    const std::int64_t given = whole_number(number_type, m.inputs[numbers], pick);
    const std::int64_t entry = given < 0 ? given + entries : given;
    if (entry < 0 || entry >= entries) {
      fail(ErrorKind::input, "number {} of a table with {} rows", given, entries);
    }
    return entry;
  }
};

void look_up(const Lookup& l, const Workers& workers, const NodeMemory& m) {
  const auto* const table = real<const char>(m.inputs[l.table]);
  auto* const y = real<char>(m.outputs[0]);
  const std::int64_t bytes = l.width * l.element_bytes;
  workers.ranges(
      l.outer * l.picks, std::max<std::int64_t>(1, numbers_per_part / l.width),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t from = row / l.picks * l.entries + l.entry(m, row % l.picks);
          std::memcpy(y + row * bytes, table + from * bytes, static_cast<std::size_t>(bytes));
        }
      });
}

/// Several picks may be of one row: a thread has a range of rows to itself and looks for theirs.
template <class T>
void look_up_gradient(const Lookup& l, const Workers& workers, const NodeMemory& m) {
  T* const gradient = real<T>(m.input_gradients[l.table]);
  if (gradient == nullptr) return;
  const T* const dy = real<T>(m.output_gradients[0]);
  std::vector<std::int64_t> entries(static_cast<std::size_t>(l.picks));
  for (std::int64_t pick = 0; pick < l.picks; ++pick) {
    entries[static_cast<std::size_t>(pick)] = l.entry(m, pick);
  }
  const std::int64_t rows = l.outer * l.entries;
  workers.parts(rows, std::max<std::int64_t>(1, numbers_per_part / l.width),
                [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                  std::fill(gradient + begin * l.width, gradient + end * l.width, T(0));
                  for (std::int64_t o = begin / l.entries; o * l.entries < end; ++o) {
                    for (std::int64_t pick = 0; pick < l.picks; ++pick) {
                      const std::int64_t row =
                          o * l.entries + entries[static_cast<std::size_t>(pick)];
                      if (row < begin || row >= end) continue;
                      T* const to = gradient + row * l.width;
                      const T* const from = dy + (o * l.picks + pick) * l.width;
                      for (std::int64_t i = 0; i < l.width; ++i) to[i] += from[i];
                    }
                  }
                });
}

KernelsOrReason lookup_kernels(const Lookup& lookup, const Setting& s) {
  const Workers& workers = s.workers;
  const bool is_fp64 = s.output().dtype == DType::fp64;
  return kernels_by({[=, &workers](const NodeMemory& m) { look_up(lookup, workers, m); },
                     [=, &workers](const NodeMemory& m) {
                       is_fp64 ? look_up_gradient<double>(lookup, workers, m)
                               : look_up_gradient<float>(lookup, workers, m);
                     },
                     {.inputs = true}},
                    s);
}

}  // namespace

KernelsOrReason make_kernels(const Embedding& op, const Setting& s) {
  return lookup_kernels({.entries = op.vocabulary,
                         .picks = s.input().elements,
                         .width = op.width,
                         .table = 1,
                         .numbers = 0,
                         .number_type = s.input().dtype,
                         .element_bytes = bytes_per_element(s.output().dtype)},
                        s);
}

KernelsOrReason make_kernels(const Gather& op, const Setting& s) {
  Lookup lookup{.picks = s.input(1).elements,
                .number_type = s.input(1).dtype,
                .element_bytes = bytes_per_element(s.input().dtype)};
  const std::size_t axis = normal_axis(op.axis, s.input().axes());
  for (std::size_t i = 0; i < s.input().axes(); ++i) {
    if (i < axis) lookup.outer *= s.input()[i];
    if (i == axis) lookup.entries = s.input()[i];
    if (i > axis) lookup.width *= s.input()[i];
  }
  return lookup_kernels(lookup, s);
}

}  // namespace strata::cpu_training
