// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/lanes.hpp"
#include "strata/measure/cpu/loops/number_rows.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

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
  std::int64_t entry_of(std::int64_t given) const {
    const std::int64_t entry = given < 0 ? given + entries : given;
    if (entry < 0 || entry >= entries) {
      fail(ErrorKind::input, "number {} of a table with {} rows", given, entries);
    }
    return entry;
  }
  std::int64_t entry(const NodeMemory& m, std::int64_t pick) const {
    return entry_of(whole_number(number_type, m.inputs[numbers], pick));
  }
  /// Calls f(entry, pick) for picks begin … end in order.
  template <class F>
  void each_pick(const NodeMemory& m, std::int64_t begin, std::int64_t end, const F& f) const {
    std::array<std::int64_t, 512> some;
    constexpr auto at_once = static_cast<std::int64_t>(some.size());
    for (std::int64_t first = begin; first < end; first += at_once) {
      const std::int64_t count = std::min(at_once, end - first);
      read_row(number_type, m.inputs[numbers], first, 1, count, some.data());
      for (std::int64_t i = 0; i < count; ++i) {
        f(entry_of(some[static_cast<std::size_t>(i)]), first + i);
      }
    }
  }
};

/// The picks in the order of their entries: those of entry e are order[begin[e]] … begin[e + 1].
class PicksByEntry {
 public:
  const std::int64_t *begin, *order;

  PicksByEntry(const Lookup& l, const Workers& workers, const NodeMemory& m) {
    auto* const begins = real<std::int64_t>(m.scratch);
    std::int64_t* const in_order = begins + l.entries + 1;
    std::int64_t* const places = in_order + l.picks;  // of each entry, for every thread
    const std::int64_t most = most_parts(l, workers);
    const auto each = [&](const auto& work) {
      return workers.parts(l.picks, std::max(few, (l.picks + most - 1) / most),
                           [&](std::int64_t part, std::int64_t first, std::int64_t last) {
                             work(places + part * l.entries, first, last);
                           });
    };
    const std::int64_t parts =
        each([&](std::int64_t* counts, std::int64_t first, std::int64_t last) {
          std::fill_n(counts, l.entries, 0);
          l.each_pick(m, first, last, [=](std::int64_t entry, std::int64_t) { ++counts[entry]; });
        });
    std::int64_t place = 0;
    for (std::int64_t entry = 0; entry < l.entries; ++entry) {
      begins[entry] = place;
      for (std::int64_t part = 0; part < parts; ++part) {
        place += std::exchange(places[part * l.entries + entry], place);
      }
    }
    begins[l.entries] = place;
    each([&](std::int64_t* next, std::int64_t first, std::int64_t last) {
      l.each_pick(m, first, last,
                  [=](std::int64_t entry, std::int64_t pick) { in_order[next[entry]++] = pick; });
    });
    begin = begins;
    order = in_order;
  }

  static std::int64_t scratch_bytes(const Lookup& l, const Workers& workers) {
    const std::int64_t numbers = l.entries + 1 + l.picks + most_parts(l, workers) * l.entries;
    return numbers * static_cast<std::int64_t>(sizeof(std::int64_t));
  }

 private:
  static constexpr std::int64_t few = 4096;  // picks that are not worth several threads' while

  /// Every thread goes through all entries for its picks: not worth its while where those are
  /// fewer.
  static std::int64_t most_parts(const Lookup& l, const Workers& workers) {
    return std::clamp<std::int64_t>(l.picks / std::max<std::int64_t>(1, l.entries), 1,
                                    workers.count());
  }
};

/// Whether most rows of the table are wanted, some of them several times: then it is read in order,
/// once, instead of here and there and again.
bool is_most_of_table(const Lookup& l) {
  constexpr std::int64_t short_row = 512;  // bytes, which take no longer than to find their order
  return l.is_table_beyond && l.picks >= l.entries / 4 && l.width * l.element_bytes >= short_row;
}

/// Up to four copies of a row, a line of each in turn: there is more to write while it is read.
template <std::size_t... copy>
STRATA_INLINE void copy_in_turn(const char* from, char* to, const std::int64_t* places,
                                std::int64_t bytes, std::index_sequence<copy...>) {
  // By way of vectors: compilers copy memory by way of smaller registers.
  using Vector __attribute__((vector_size(16))) = std::uint8_t;
  constexpr std::int64_t line = 64;
  char* const all[] = {to + places[copy] * bytes...};
  std::int64_t at = 0;
  for (; at + line <= bytes; at += line) {
    Vector a, b, c, d;
    std::memcpy(&a, from + at, sizeof a);
    std::memcpy(&b, from + at + 16, sizeof b);
    std::memcpy(&c, from + at + 32, sizeof c);
    std::memcpy(&d, from + at + 48, sizeof d);
    const auto write = [&](char* place) {
      std::memcpy(place, &a, sizeof a);
      std::memcpy(place + 16, &b, sizeof b);
      std::memcpy(place + 32, &c, sizeof c);
      std::memcpy(place + 48, &d, sizeof d);
    };
    (write(all[copy] + at), ...);
  }
  if (at < bytes) {
    (std::memcpy(all[copy] + at, from + at, static_cast<std::size_t>(bytes - at)), ...);
  }
}

/// Copies a row to to + place · bytes, for each of some places.
STRATA_INLINE void copy_to_all(const char* from, char* to, const std::int64_t* places,
                               std::int64_t count, std::int64_t bytes) {
  for (; count >= 4; count -= 4, places += 4) {
    copy_in_turn(from, to, places, bytes, std::make_index_sequence<4>());
  }
  if (count == 3) copy_in_turn(from, to, places, bytes, std::make_index_sequence<3>());
  if (count == 2) copy_in_turn(from, to, places, bytes, std::make_index_sequence<2>());
  if (count == 1) copy_in_turn(from, to, places, bytes, std::make_index_sequence<1>());
}

void look_up_in_order_of_table(const Lookup& l, const Workers& workers, const NodeMemory& m) {
  const auto* const table = real<const char>(m.inputs[l.table]);
  auto* const y = real<char>(m.outputs[0]);
  const std::int64_t bytes = l.width * l.element_bytes;
  const PastCaches past(l.is_beyond ? l.outer * l.picks * bytes : 0);
  const PicksByEntry picks(l, workers, m);
  const bool has_past = stream_of<float>() != nullptr;
  const std::int64_t *const begins = picks.begin, *const order = picks.order;
  workers.ranges(l.outer * l.entries, std::max<std::int64_t>(1, numbers_per_part / l.width),
                 [=, &past](std::int64_t begin, std::int64_t end) {
                   std::int64_t entry = begin % l.entries;
                   char* to = y + begin / l.entries * l.picks * bytes;
                   const char* from = table + begin * bytes;
                   for (std::int64_t row = begin; row < end; ++row, from += bytes) {
                     const std::int64_t first = begins[entry], last = begins[entry + 1];
                     if (!has_past) copy_to_all(from, to, order + first, last - first, bytes);
                     for (std::int64_t i = first; has_past && i < last; ++i) {
                       past.copy(to + order[i] * bytes, from, bytes);
                     }
                     if (++entry < l.entries) continue;
                     entry = 0;
                     to += l.picks * bytes;
                   }
                 });
}

/// Some rows that lie anywhere, to be copied one after the other.
struct RowsAtOnce {
  static constexpr std::int64_t most = 8;
  std::array<const char*, most> from{};
  std::int64_t count = 0;

  template <class RowOf>
  RowsAtOnce(const RowOf& row_of, std::int64_t begin, std::int64_t end)
      : count(std::clamp<std::int64_t>(end - begin, 0, most)) {
    for (std::int64_t k = 0; k < count; ++k) from[static_cast<std::size_t>(k)] = row_of(begin + k);
  }
};

/// A piece of each in turn, while those that come next are asked for: an Arm core that reads one
/// row after the other foresees what follows them, which is of no use, and waits for the next.
void copy_rows_in_turn(const RowsAtOnce& rows, const RowsAtOnce& next, char* to,
                       std::int64_t bytes) {
  constexpr std::int64_t piece = 256;
  const auto copy = [&](std::int64_t at, auto length) {
    for (std::int64_t k = 0; k < rows.count; ++k) {
      const auto row = static_cast<std::size_t>(k);
      if (k < next.count) fetch(next.from[row] + at, std::int64_t(length));
      std::memcpy(to + k * bytes + at, rows.from[row] + at, static_cast<std::size_t>(length));
    }
  };
  std::int64_t at = 0;
  for (; at + piece <= bytes; at += piece) copy(at, std::integral_constant<std::int64_t, piece>());
  if (at < bytes) copy(at, bytes - at);
}

void look_up(const Lookup& l, const Workers& workers, const NodeMemory& m) {
  const auto* const table = real<const char>(m.inputs[l.table]);
  auto* const y = real<char>(m.outputs[0]);
  const std::int64_t bytes = l.width * l.element_bytes;
  const auto row_of = [&](std::int64_t row) {
    return table + (row / l.picks * l.entries + l.entry(m, row % l.picks)) * bytes;
  };
  const auto in_turn = [&](std::int64_t begin, std::int64_t end) {
    RowsAtOnce rows(row_of, begin, end);
    for (std::int64_t row = begin; row < end; row += RowsAtOnce::most) {
      const RowsAtOnce next(row_of, row + RowsAtOnce::most, end);
      copy_rows_in_turn(rows, next, y + row * bytes, bytes);
      rows = next;
    }
  };
  // The next row is asked for before this one is copied.
  const auto one_by_one = [&](std::int64_t begin, std::int64_t end) {
    const bool is_past = l.is_beyond && bytes % 4 == 0;
    ResultStream<float> past(real<float>(m.outputs[0]), begin * (bytes / 4), is_past);
    const char* next = row_of(begin);
    for (std::int64_t row = begin; row < end; ++row) {
      const char* const from = std::exchange(next, row + 1 < end ? row_of(row + 1) : nullptr);
      if (next != nullptr) fetch(next, bytes);
      if (is_past) {
        past.copy(reinterpret_cast<const float*>(from), bytes / 4);
      } else {
        std::memcpy(y + row * bytes, from, static_cast<std::size_t>(bytes));
      }
    }
  };
  const bool has_past = stream_of<float>() != nullptr;
  workers.ranges(l.outer * l.picks, std::max<std::int64_t>(1, numbers_per_part / l.width),
                 [&](std::int64_t begin, std::int64_t end) {
                   has_past ? one_by_one(begin, end) : in_turn(begin, end);
                 });
}

/// Rows of gradients that lie anywhere, in the order of the table's rows that they belong to.
template <class T>
struct PickedRows {
  const T* gradients;
  const std::int64_t* order;
  std::int64_t width;

  const T* operator[](std::int64_t pick) const { return gradients + order[pick] * width; }
  PickedRows from(std::int64_t pick) const { return {gradients, order + pick, width}; }
};

/// sum = Σ rows, from number `at` on, in one go: lines that are written once, one after the other,
/// need not be fetched first.
template <std::int64_t count, class T>
STRATA_INLINE void sum_of(const PickedRows<T>& rows, std::int64_t at, T* sum, std::int64_t length) {
  const T* x[count];
  for (std::int64_t k = 0; k < count; ++k) x[k] = rows[k] + at;
#pragma GCC ivdep
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < length; ++i) {
    T s = x[0][i];
    for (std::int64_t k = 1; k < count; ++k) s += x[k][i];
    sum[i] = s;
  }
}

template <class T>
STRATA_INLINE void sum_rows(const PickedRows<T>& rows, std::int64_t count, std::int64_t at, T* sum,
                            std::int64_t length) {
  switch (count) {
    case 0: return fill_numbers(sum, length, T(0));
    case 1: return sum_of<1>(rows, at, sum, length);
    case 2: return sum_of<2>(rows, at, sum, length);
    case 3: return sum_of<3>(rows, at, sum, length);
    case 4: return sum_of<4>(rows, at, sum, length);
    case 5: return sum_of<5>(rows, at, sum, length);
    default: sum_of<6>(rows, at, sum, length);
  }
  for (std::int64_t k = 6; k < count; ++k) vector_loops<T>().add_row(rows[k] + at, sum, length);
}

/// The table's rows first … last, those who picked row r are `rows` begin[r] … begin[r + 1].
struct TableRows {
  const std::int64_t* begin;
  std::int64_t first, last;
};

/// One row of sums after the other; gradients are asked for while others are added.
template <class T>
void sum_in_order(const PickedRows<T>& rows, const TableRows& of, T* sums, bool is_beyond) {
  ResultPieces<T> result(sums, is_beyond);
  constexpr std::int64_t ahead = 4, piece = 512 / sizeof(T);
  for (std::int64_t row = of.first; row < of.last; ++row) {
    const std::int64_t first = of.begin[row], last = of.begin[row + 1];
    const std::int64_t asked = std::min(last + ahead, of.begin[of.last]);
    for (std::int64_t at = 0; at < rows.width; at += piece) {
      const std::int64_t length = std::min(piece, rows.width - at);
      for (std::int64_t k = first + ahead; k < asked; ++k) fetch(rows[k] + at, length);
      sum_rows(rows.from(first), last - first, at, result.next(row * rows.width + at, length),
               length);
    }
  }
}

/// A piece of each of several rows of sums; those of the picks up to `asked` are asked for.
template <class T>
STRATA_INLINE void sum_pieces(const PickedRows<T>& rows, const TableRows& of, std::int64_t asked,
                              std::int64_t at, std::int64_t length, T* sums) {
  for (std::int64_t k = of.begin[of.last]; k < asked; ++k) ask_lines(rows[k] + at, length);
  for (std::int64_t row = of.first; row < of.last; ++row) {
    const std::int64_t first = of.begin[row], count = of.begin[row + 1] - first;
    sum_rows(rows.from(first), count, at, sums + row * rows.width + at, length);
  }
}

/// Several rows of sums side by side, piece by piece: an Arm core that reads gradients one after
/// the other foresees what follows them, which is of no use, and waits for the next. It does better
/// with pieces of a dozen in turn.
template <class T>
void sum_side_by_side(const PickedRows<T>& given, const TableRows& of, T* sums) {
  constexpr std::int64_t most_picks = 12, most_rows = 8, piece = 256 / sizeof(T);
  const PickedRows<T> rows = given;  // in registers
  TableRows some{of.begin, of.first, of.first};
  const std::int64_t last = of.last, picks = of.begin[last];
  for (; some.first < last; some.first = some.last) {
    const std::int64_t first_pick = some.begin[some.first];
    const std::int64_t most = std::min(some.first + most_rows, last);
    ++some.last;
    while (some.last < most && some.begin[some.last + 1] - first_pick <= most_picks) ++some.last;
    const std::int64_t asked = std::min(2 * some.begin[some.last] - first_pick, picks);
    std::int64_t at = 0;
    for (; at + piece <= rows.width; at += piece) sum_pieces(rows, some, asked, at, piece, sums);
    if (at < rows.width) sum_pieces(rows, some, asked, at, rows.width - at, sums);
  }
}

/// Several picks may be of one row: their gradients are added before the row is written.
template <class T>
void look_up_gradient(const Lookup& l, const Workers& workers, const NodeMemory& m) {
  T* const gradient = real<T>(m.input_gradients[l.table]);
  if (gradient == nullptr) return;
  const T* const dy = real<T>(m.output_gradients[0]);
  const PicksByEntry picks(l, workers, m);
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t outer = row / l.entries, first = row % l.entries;
      const std::int64_t last = std::min(l.entries, first + end - row);
      const PickedRows<T> rows{dy + outer * l.picks * l.width, picks.order, l.width};
      const TableRows of{picks.begin, first, last};
      T* const sums = gradient + outer * l.entries * l.width;
      if (stream_of<T>() == nullptr) {
        sum_side_by_side(rows, of, sums);
      } else {
        sum_in_order(rows, of, sums, l.is_table_beyond);
      }
      row += last - first;
    }
  };
  workers.ranges(l.outer * l.entries, std::max<std::int64_t>(1, numbers_per_part / l.width), work);
}

KernelsOrReason lookup_kernels(Lookup lookup, const Setting& s) {
  lookup.is_beyond = is_beyond_caches(s.output().bytes);
  lookup.is_table_beyond = is_beyond_caches(s.input(lookup.table).bytes);
  const Workers& workers = s.workers;
  const bool is_fp64 = s.output().dtype == DType::fp64;
  return kernels_by(
      {[=, &workers](const NodeMemory& m) {
         is_most_of_table(lookup) ? look_up_in_order_of_table(lookup, workers, m)
                                  : look_up(lookup, workers, m);
       },
       [=, &workers](const NodeMemory& m) {
         is_fp64 ? look_up_gradient<double>(lookup, workers, m)
                 : look_up_gradient<float>(lookup, workers, m);
       },
       {.inputs = true, .scratch_bytes = PicksByEntry::scratch_bytes(lookup, workers)}},
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
