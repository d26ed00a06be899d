// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cpu/line_room.hpp"
#include "strata/cpu/row_sequences.hpp"
#include "strata/measure/cpu/loops/lanes.hpp"
#include "strata/measure/cpu/loops/workers.hpp"

#include <algorithm>
#include <optional>
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
  const cpu::LineRoom<T> beside(rows.length());
  for (std::int64_t k = 0; k < rows.copies(); ++k) {
    std::copy_n(row, rows.row(), beside.data() + k * rows.row());
  }
  const T* const own = beside.data();
  const std::int64_t length = rows.length();
  // `number` rows that lie `apart` numbers apart.
  const auto some_rows = [=](const T* from, T* to, std::int64_t apart, std::int64_t count,
                             auto number) {
    four_by_four<T>(count, [=](auto at) {
      typename decltype(at)::Number numbers, other;
      at.load_near(other, own);
      for (std::int64_t k = 0; k < number; ++k) {
        at.load(numbers, from + k * apart);
        at.store(f(numbers, other), to + k * apart);
      }
    });
  };
  workers.ranges(rows.rows(), rows.least(), [=](std::int64_t begin, std::int64_t end) {
    cpu::in_sequences<2>(end - begin, [=](std::int64_t first, std::int64_t apart, auto number) {
      const std::int64_t at = (begin + first) * length;
      some_rows(x + at, y + at, apart * length, length, number);
    });
  });
  const std::int64_t done = rows.rows() * length;
  some_rows(x + done, y + done, 0, rows.rest(), std::integral_constant<std::int64_t, 1>());
}

/// Factors of a wide row and what is summed up for each, a line of both in turn: rows are often a
/// power of two apart, and would compete with arrays of their own for the same places of the first
/// cache.
template <class T>
class FactorsAndSums {
 public:
  FactorsAndSums(const WideRows& rows, const T* factors)
      : rows_(rows), room_((rows.length() + line - 1) / line * both) {
    std::fill_n(room_.data(), (rows.length() + line - 1) / line * both, T(0));
    each_place([=](T* place, std::int64_t k) { *place = factors[k]; });
  }

  /// Of `number` rows that lie `apart` numbers apart: dx = dy · factors, and Σ dy · x.
  template <std::int64_t number>
  void take(const T* dy, const T* x, T* dx, std::int64_t apart, std::int64_t count) const {
    T* own = room_.data();
    std::int64_t i = 0;
    for (; i + line <= count; i += line, own += both) {
      const AtFour<T> near{0}, at{i};
      Four<T> factor, sum;
      near.load_near(factor, own);
      near.load_near(sum, own + line);
      for (std::int64_t row = 0; row < number; ++row) {
        Four<T> d, other;
        at.load(d, dy + row * apart);
        at.load(other, x + row * apart);
        at.store(d * factor, dx + row * apart);
        sum += d * other;
      }
      near.store(sum, own + line);
    }
    for (; i < count; ++i, ++own) {
      for (std::int64_t row = 0; row < number; ++row) {
        const T d = dy[row * apart + i];
        dx[row * apart + i] = d * own[0];
        own[line] += d * x[row * apart + i];
      }
    }
  }

  void add_to(T* sums) const {
    each_place([=](const T* place, std::int64_t k) { sums[k] += place[line]; });
  }

 private:
  static constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T)), both = 2 * line;

  /// Calls work(place, k) for each number of the wide row: number k of the row as it was.
  template <class Work>
  void each_place(const Work& work) const {
    for (std::int64_t copy = 0; copy < rows_.copies(); ++copy) {
      for (std::int64_t k = 0; k < rows_.row(); ++k) {
        const std::int64_t i = copy * rows_.row() + k;
        work(room_.data() + i / line * both + i % line, k);
      }
    }
  }

  WideRows rows_;
  cpu::LineRoom<T> room_;
};

/// The gradients of x · factors: dx = dy · factors and sums = Σ dy · x, of all rows.
template <class T>
void factor_gradients_of_rows(const Workers& workers, const WideRows& rows, const T* dy,
                              const T* factors, const T* x, T* dx, T* sums) {
  const std::int64_t length = rows.length(), done = rows.rows() * length;
  std::vector<std::optional<FactorsAndSums<T>>> found(static_cast<std::size_t>(workers.count()));
  workers.parts(
      rows.rows(), rows.least(), [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
        const auto& own = found[static_cast<std::size_t>(part)].emplace(rows, factors);
        cpu::in_sequences<2>(end - begin, [&](std::int64_t first, std::int64_t apart, auto number) {
          const std::int64_t at = (begin + first) * length;
          own.template take<number>(dy + at, x + at, dx + at, apart * length, length);
        });
      });
  found[0]->template take<1>(dy + done, x + done, dx + done, 0, rows.rest());
  std::fill_n(sums, rows.row(), T(0));
  for (const auto& part : found) {
    if (part) part->add_to(sums);
  }
}

}  // namespace strata::cpu_training
