// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/number_rows.hpp"
#include "strata/measure/cpu/training/result_stream.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace strata::cpu_training {
namespace {

/// Rows of a table [outer, entries, width] picked by numbers: Y is [outer, picks, width].
struct Lookup {
  std::int64_t outer = 1, entries = 0, picks = 0, width = 1;
  std::size_t table = 0, numbers = 1;  // which inputs
  DType number_type = DType::int64;
  std::int64_t element_bytes = 4;
  bool is_beyond = false, is_table_beyond = false;  // Y, the table: larger than the caches

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
  const auto row_of = [&](std::int64_t row) {
    return table + (row / l.picks * l.entries + l.entry(m, row % l.picks)) * bytes;
  };
  workers.ranges(
      l.outer * l.picks, std::max<std::int64_t>(1, numbers_per_part / l.width),
      [&](std::int64_t begin, std::int64_t end) {
        const bool is_past = l.is_beyond && bytes % 4 == 0;
        ResultStream<float> past(real<float>(m.outputs[0]), begin * (bytes / 4), is_past);
        const bool has_past = stream_of<float>() != nullptr;
        constexpr std::int64_t piece = 512;
        const char* next = row_of(begin);
        for (std::int64_t row = begin; row < end; ++row) {
          const char* const from = std::exchange(next, row + 1 < end ? row_of(row + 1) : nullptr);
          // Rows lie anywhere: the next one is asked for before this one is copied, or while it is.
          if (!has_past) {
            char* const to = y + row * bytes;
            for (std::int64_t at = 0; at < bytes; at += piece) {
              const std::int64_t length = std::min(piece, bytes - at);
              if (next != nullptr) fetch(next + at, length);
              std::memcpy(to + at, from + at, static_cast<std::size_t>(length));
            }
            continue;
          }
          if (next != nullptr) fetch(next, bytes);
          if (is_past) {
            past.copy(reinterpret_cast<const float*>(from), bytes / 4);
          } else {
            std::memcpy(y + row * bytes, from, static_cast<std::size_t>(bytes));
          }
        }
      });
}

/// The picks in the order of their entries: those of entry e are order[begin[e]] … begin[e + 1].
struct PicksByEntry {
  std::vector<std::int64_t> begin, order;

  PicksByEntry(const Lookup& l, const NodeMemory& m)
      : begin(static_cast<std::size_t>(l.entries + 1)), order(static_cast<std::size_t>(l.picks)) {
    std::vector<std::size_t> entries(order.size());
    for (std::int64_t pick = 0; pick < l.picks; ++pick) {
      entries[static_cast<std::size_t>(pick)] = static_cast<std::size_t>(l.entry(m, pick));
    }
    for (const std::size_t entry : entries) ++begin[entry + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::int64_t> next(begin.begin(), begin.end());
    for (std::size_t pick = 0; pick < entries.size(); ++pick) {
      order[static_cast<std::size_t>(next[entries[pick]]++)] = static_cast<std::int64_t>(pick);
    }
  }
};

/// Several picks may be of one row: their gradients are added before the row is written.
template <class T>
void look_up_gradient(const Lookup& l, const Workers& workers, const NodeMemory& m) {
  T* const gradient = real<T>(m.input_gradients[l.table]);
  if (gradient == nullptr) return;
  const T* const dy = real<T>(m.output_gradients[0]);
  const PicksByEntry picks(l, m);
  const bool is_beyond = l.is_table_beyond;
  workers.ranges(l.outer * l.entries, std::max<std::int64_t>(1, numbers_per_part / l.width),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::vector<T> sum(static_cast<std::size_t>(l.width));
                   ResultStream<T> result(gradient, begin * l.width, is_beyond);
                   for (std::int64_t row = begin; row < end; ++row) {
                     const auto entry = static_cast<std::size_t>(row % l.entries);
                     const T* const from = dy + row / l.entries * l.picks * l.width;
                     const std::int64_t first = picks.begin[entry], last = picks.begin[entry + 1];
                     if (first == last) {
                       result.fill(T(0), l.width);
                       continue;
                     }
                     const auto pick = [&](std::int64_t i) {
                       return from + picks.order[static_cast<std::size_t>(i)] * l.width;
                     };
                     if (stream_of<T>() == nullptr) {
                       T* const place = result.next(l.width);
                       if (last < l.picks) fetch(pick(last), l.width);
                       std::copy_n(pick(first), l.width, place);
                       for (std::int64_t i = first + 1; i < last; ++i) {
                         vector_loops<T>().add_row(pick(i), place, l.width);
                       }
                       continue;
                     }
                     std::copy_n(pick(first), l.width, sum.begin());
                     for (std::int64_t i = first + 1; i < last; ++i) {
                       vector_loops<T>().add_row(pick(i), sum.data(), l.width);
                     }
                     if (last < l.picks) fetch(pick(last), l.width);
                     result.copy(sum.data(), l.width);
                   }
                 });
}

KernelsOrReason lookup_kernels(Lookup lookup, const Setting& s) {
  lookup.is_beyond = is_beyond_caches(s.output().bytes);
  lookup.is_table_beyond = is_beyond_caches(s.input(lookup.table).bytes);
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
