// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/loops/number_rows.hpp"
#include "strata/measure/cpu/training/loops/result_stream.hpp"

#include <algorithm>
#include <array>
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

/// Whether most rows of the table are wanted, some of them several times: then it is read in order,
/// once, instead of here and there and again.
bool is_most_of_table(const Lookup& l) {
  constexpr std::int64_t short_row = 512;  // bytes, which take no longer than to find their order
  return l.is_table_beyond && l.picks >= l.entries / 4 && l.width * l.element_bytes >= short_row;
}

void look_up_in_order_of_table(const Lookup& l, const Workers& workers, const NodeMemory& m) {
  const auto* const table = real<const char>(m.inputs[l.table]);
  auto* const y = real<char>(m.outputs[0]);
  const std::int64_t bytes = l.width * l.element_bytes;
  const PastCaches past(l.is_beyond ? l.outer * l.picks * bytes : 0);
  const PicksByEntry picks(l, m);
  workers.ranges(l.outer * l.entries, std::max<std::int64_t>(1, numbers_per_part / l.width),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     const auto entry = static_cast<std::size_t>(row % l.entries);
                     char* const to = y + row / l.entries * l.picks * bytes;
                     for (std::int64_t i = picks.begin[entry]; i < picks.begin[entry + 1]; ++i) {
                       past.copy(to + picks.order[static_cast<std::size_t>(i)] * bytes,
                                 table + row * bytes, bytes);
                     }
                   }
                 });
}

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

/// sum = Σ rows, from number `at` on, in one go: lines that are written once, one after the other,
/// need not be fetched first.
template <std::size_t count, class T>
void sum_of(const T* const* rows, std::int64_t at, T* sum, std::int64_t length) {
  std::array<const T*, count> x;
  for (std::size_t k = 0; k < count; ++k) x[k] = rows[k] + at;
#pragma GCC ivdep
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < length; ++i) {
    T s = x[0][i];
    for (std::size_t k = 1; k < count; ++k) s += x[k][i];
    sum[i] = s;
  }
}

template <class T>
void sum_rows(const T* const* rows, std::int64_t count, std::int64_t at, T* sum,
              std::int64_t length) {
  switch (count) {
    case 0: return fill_numbers(sum, length, T(0));
    case 1: return sum_of<1>(rows, at, sum, length);
    case 2: return sum_of<2>(rows, at, sum, length);
    case 3: return sum_of<3>(rows, at, sum, length);
    default: sum_of<4>(rows, at, sum, length);
  }
  for (std::int64_t k = 4; k < count; ++k) vector_loops<T>().add_row(rows[k] + at, sum, length);
}

/// Several picks may be of one row: their gradients are added before the row is written.
template <class T>
void look_up_gradient(const Lookup& l, const Workers& workers, const NodeMemory& m) {
  T* const gradient = real<T>(m.input_gradients[l.table]);
  if (gradient == nullptr) return;
  const T* const dy = real<T>(m.output_gradients[0]);
  const PicksByEntry picks(l, m);
  const auto picks_of = [&](std::int64_t row) {
    const auto entry = static_cast<std::size_t>(row % l.entries);
    return std::pair(picks.begin[entry], picks.begin[entry + 1]);
  };
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    // Those of all rows first, so that nothing else is written between results.
    std::vector<const T*> gradients;
    for (std::int64_t row = begin; row < end; ++row) {
      const auto [first, last] = picks_of(row);
      const T* const from = dy + row / l.entries * l.picks * l.width;
      for (std::int64_t i = first; i < last; ++i) {
        gradients.push_back(from + picks.order[static_cast<std::size_t>(i)] * l.width);
      }
    }
    // They lie anywhere, and are asked for while others are added.
    constexpr std::int64_t ahead = 4, piece = 512 / sizeof(T);
    const T* const* rows = gradients.data();
    auto left = static_cast<std::int64_t>(gradients.size());
    ResultPieces<T> result(gradient, l.is_table_beyond);
    for (std::int64_t row = begin; row < end; ++row) {
      const auto [first, last] = picks_of(row);
      const std::int64_t count = last - first;
      for (std::int64_t at = 0; at < l.width; at += piece) {
        const std::int64_t length = std::min(piece, l.width - at);
        for (std::int64_t k = ahead; k < std::min(count + ahead, left); ++k) {
          fetch(rows[k] + at, length);
        }
        sum_rows(rows, count, at, result.next(row * l.width + at, length), length);
      }
      rows += count;
      left -= count;
    }
  };
  workers.ranges(l.outer * l.entries, std::max<std::int64_t>(1, numbers_per_part / l.width), work);
}

KernelsOrReason lookup_kernels(Lookup lookup, const Setting& s) {
  lookup.is_beyond = is_beyond_caches(s.output().bytes);
  lookup.is_table_beyond = is_beyond_caches(s.input(lookup.table).bytes);
  const Workers& workers = s.workers;
  const bool is_fp64 = s.output().dtype == DType::fp64;
  return kernels_by({[=, &workers](const NodeMemory& m) {
                       is_most_of_table(lookup) ? look_up_in_order_of_table(lookup, workers, m)
                                                : look_up(lookup, workers, m);
                     },
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
