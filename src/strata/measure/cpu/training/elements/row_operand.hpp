// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/row_sequences.hpp"
#include "strata/measure/cpu/training/loops/lanes.hpp"
#include "strata/measure/cpu/training/loops/line_room.hpp"
#include "strata/measure/cpu/training/loops/workers.hpp"

#include <algorithm>
#include <vector>

/// Two operands of which one is a row that all rows of the other have in common, in vectors that
/// are written out (writes_vectors). Two rows are taken at once, and many in one loop: a core that
/// writes whole lines without fetching them is put off by what else is stored between rows.
namespace strata::cpu_training {

/// Rows of `length` numbers; a short row several times side by side is one long row.
class WideRows {
 public:
  WideRows(std::int64_t rows, std::int64_t length) : row_(length) {
    constexpr std::int64_t long_enough = 1024;
    copies_ = std::clamp<std::int64_t>(long_enough / length, 1, rows);
    rows_ = rows / copies_;
    rest_ = rows % copies_ * length;
  }
  std::int64_t row() const { return row_; }        ///< the length of one as it was
  std::int64_t copies() const { return copies_; }  ///< side by side
  std::int64_t length() const { return copies_ * row_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t rest() const { return rest_; }  ///< numbers behind the last whole one
  std::int64_t least() const { return std::max<std::int64_t>(1, numbers_per_part / length()); }

 private:
  std::int64_t row_, copies_ = 1, rows_ = 0, rest_ = 0;
};

/// y = f(x, row) for all rows of x.
template <class T, class F>
void combine_with_row(const Workers& workers, const WideRows& rows, const T* x, const T* row, T* y,
                      F f) {
  const LineRoom<T> beside(rows.length());
  for (std::int64_t k = 0; k < rows.copies(); ++k) {
    std::copy_n(row, rows.row(), beside.data() + k * rows.row());
  }
  const T* const own = beside.data();
  const std::int64_t length = rows.length();
  const auto one_row = [=](const T* from, T* to, std::int64_t count) {
    four_by_four<T>(count, [=](auto at) {
      typename decltype(at)::Number number, other;
      at.load(number, from);
      at.load_near(other, own);
      at.store(f(number, other), to);
    });
  };
  const auto two_rows = [=](const T* from, T* to, std::int64_t apart) {
    four_by_four<T>(length, [=](auto at) {
      typename decltype(at)::Number number, other;
      at.load_near(other, own);
      at.load(number, from);
      at.store(f(number, other), to);
      at.load(number, from + apart);
      at.store(f(number, other), to + apart);
    });
  };
  workers.ranges(rows.rows(), rows.least(), [=](std::int64_t begin, std::int64_t end) {
    const T* const from = x + begin * length;
    T* const to = y + begin * length;
    cpu::in_sequences<2>(end - begin, [=](std::int64_t first, std::int64_t apart, auto number) {
      const std::int64_t at = first * length;
      if constexpr (number == 2) {
        two_rows(from + at, to + at, apart * length);
      } else {
        one_row(from + at, to + at, length);
      }
    });
  });
  const std::int64_t done = rows.rows() * length;
  one_row(x + done, y + done, rows.rest());
}

/// The gradients of x · factors: dx = dy · factors and sums = Σ dy · x, of all rows.
template <class T>
void factor_gradients_of_rows(const Workers& workers, const WideRows& rows, const T* dy,
                              const T* factors, const T* x, T* dx, T* sums) {
  // A line of factors and one of sums in turn: rows are often a power of two apart, and would
  // compete with arrays of their own for the same places of the first cache.
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T)), both = 2 * line;
  const std::int64_t length = rows.length(), room = (length + line - 1) / line * both;
  const auto place = [](std::int64_t i) { return i / line * both + i % line; };
  std::vector<LineRoom<T>> rooms;
  for (std::int64_t part = 0; part < workers.count(); ++part) {
    rooms.emplace_back(room);
    T* const own = rooms.back().data();
    std::fill_n(own, room, T(0));
    for (std::int64_t i = 0; i < length; ++i) own[place(i)] = factors[i % rows.row()];
  }
  // `number` rows, `apart` numbers apart.
  const auto some_rows = [=](std::int64_t first, std::int64_t apart, auto number, T* own,
                             std::int64_t count) {
    std::int64_t i = 0;
    const T *const d_from = dy + first, *const from = x + first;
    T* const to = dx + first;
    for (; i + line <= count; i += line, own += both) {
      const AtFour<T> near{0}, at{i};
      Four<T> factor, sum;
      near.load_near(factor, own);
      near.load_near(sum, own + line);
      for (std::int64_t k = 0; k < number; ++k) {
        Four<T> d, other;
        at.load(d, d_from + k * apart);
        at.load(other, from + k * apart);
        at.store(d * factor, to + k * apart);
        sum += d * other;
      }
      near.store(sum, own + line);
    }
    for (std::int64_t k = 0; i < count; ++i, ++k) {
      for (std::int64_t row = 0; row < number; ++row) {
        const T d = d_from[row * apart + i];
        to[row * apart + i] = d * own[k];
        own[line + k] += d * from[row * apart + i];
      }
    }
  };
  const std::int64_t parts = workers.parts(
      rows.rows(), rows.least(), [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
        T* const own = rooms[static_cast<std::size_t>(part)].data();
        cpu::in_sequences<2>(end - begin, [=](std::int64_t first, std::int64_t apart, auto number) {
          some_rows((begin + first) * length, apart * length, number, own, length);
        });
      });
  some_rows(rows.rows() * length, 0, std::integral_constant<std::int64_t, 1>(), rooms[0].data(),
            rows.rest());
  std::fill_n(sums, rows.row(), T(0));
  for (std::int64_t part = 0; part < parts; ++part) {
    const T* const own = rooms[static_cast<std::size_t>(part)].data() + line;
    for (std::int64_t i = 0; i < length; ++i) sums[i % rows.row()] += own[place(i)];
  }
}

}  // namespace strata::cpu_training
