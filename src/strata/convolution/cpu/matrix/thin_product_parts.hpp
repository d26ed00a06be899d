// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/matrix/thin_product.hpp"
#include "strata/cpu/line_room.hpp"
#include "strata/cpu/row_sequences.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>

/// How thin products are taken apart, whatever vectors multiply: in which order rows are read, what
/// is copied and what stays in a cache. `Loops` is what a vector unit does of it:
///
///   most_rows              so many rows have their sums in registers
///   rows_together(terms)   so many rows of a result are written at a time
///   multiply_rows, add_rows, write_rows   see where they are called
namespace strata::cpu {

/// A vector unit's thin products, and when they are worth it, as measured.
struct ThinKernels {
  void (*multiply)(const Product<float>& product);
  /// With more, memory no longer limits them.
  std::int64_t most_rows;
  /// OpenBLAS is faster where the large matrix has fewer numbers, or few rows are multiplied by
  /// fewer of them in all.
  std::int64_t least_numbers = 0, least_products = 0;
};
/// Null: there are none.
const ThinKernels* thin_kernels();

inline constexpr std::int64_t most_thin_terms = 8;

/// Of numbers, in a cache.
inline constexpr std::int64_t numbers_of_line = 16;

inline std::int64_t whole_lines(std::int64_t numbers) {
  return (numbers + numbers_of_line - 1) / numbers_of_line * numbers_of_line;
}

/// Calls work(constant) for a number from 1 to `most`.
template <std::int64_t most, class Work>
void with_number(std::int64_t number, const Work& work) {
  if constexpr (most > 1) {
    if (number < most) return with_number<most - 1>(number, work);
  }
  work(std::integral_constant<std::int64_t, most>());
}

/// a[row][term]·alpha
inline float scaled(const Product<float>& p, std::int64_t row, std::int64_t term) {
  return p.alpha * (p.a_is_turned ? p.a[term * p.a_step + row] : p.a[row * p.a_step + term]);
}

/// Where sums of some rows of a result lie: how far it is from one row to the next, and from one
/// line of a row to its next.
struct PlacesOfSums {
  float* sums;
  std::int64_t row_step, line_step;
};

/// Rows of a result that are written: from a row and a column on, so many columns of it.
struct WrittenRows {
  float* first;
  std::int64_t step, columns;
  bool goes_around_caches;
};

// What is left behind the last whole vectors. In functions of their own: compiled for each number
// of rows and terms, and as vectors, they would be most of the code.

/// Σ a[term] · b[term]
__attribute__((noinline)) inline float rest_of_sum(const float* a, const float* b,
                                                   std::int64_t terms) {
  float sum = 0;
  for (std::int64_t l = 0; l < terms; ++l) sum += a[l] * b[l];
  return sum;
}

/// Adds Σ factors[term] · b[term][column], rows of b `apart` numbers apart, to sums[column].
__attribute__((noinline)) inline void add_rest(const float* factors, std::int64_t terms,
                                               const float* b, std::int64_t apart, float* sums,
                                               std::int64_t columns) {
  for (std::int64_t l = 0; l < terms; ++l) {
    for (std::int64_t j = 0; j < columns; ++j) sums[j] += factors[l] * b[l * apart + j];
  }
}

/// Of rows of the product p, from a row on: all its terms, whose copies b are `b_step` apart, from
/// a column on.
__attribute__((noinline)) inline void write_rest(const Product<float>& p, std::int64_t row,
                                                 std::int64_t rows, const float* b,
                                                 std::int64_t b_step, const WrittenRows& to,
                                                 std::int64_t column) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = column; j < to.columns; ++j) {
      float& number = to.first[i * to.step + j];
      float sum = p.adds ? number : 0;
      for (std::int64_t l = 0; l < p.k; ++l) sum += scaled(p, row + i, l) * b[l * b_step + j];
      number = sum;
    }
  }
}

template <class Loops>
class ThinProduct {
 public:
  static void multiply(const Product<float>& p) {
    if (p.k <= most_thin_terms && !p.b_is_turned) return multiply_few_terms(p);
    p.b_is_turned ? multiply_turned(p) : multiply_few_rows(p);
  }

 private:
  /// How much of a row of b is taken at a time, so that as much of each of a few other rows stays
  /// in the second cache: all of it, if possible, as b is read in order then.
  static std::int64_t taken_at_once(std::int64_t length, std::int64_t rows) {
    constexpr std::int64_t most = 131'072;
    const std::int64_t parts = std::max<std::int64_t>(1, (length * rows + most - 1) / most);
    return whole_lines((length + parts - 1) / parts);
  }

  /// Calls work(row, constant) for so many of the product's rows at a time, all but equally many.
  template <class Work>
  static void for_some_rows(const Product<float>& p, const Work& work) {
    const std::int64_t parts = (p.m + Loops::most_rows - 1) / Loops::most_rows;
    const std::int64_t at_once = (p.m + parts - 1) / parts;
    for (std::int64_t row = 0; row < p.m; row += at_once) {
      with_number<Loops::most_rows>(std::min(at_once, p.m - row),
                                    [&](auto rows) { work(row, rows); });
    }
  }

  // Few rows of a, and b turned: every result is the sum of products of two rows.

  static void multiply_turned(const Product<float>& p) {
    const std::int64_t terms_at_once = taken_at_once(p.k, p.m);
    const std::int64_t own_step = whole_lines(std::min(p.k, terms_at_once)) + between_rows;
    const LineRoom<float> own(p.m * own_step);
    for (std::int64_t first = 0; first < p.k; first += terms_at_once) {
      const std::int64_t terms = std::min(terms_at_once, p.k - first);
      for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t l = 0; l < terms; ++l) {
          own.data()[i * own_step + l] = scaled(p, i, first + l);
        }
      }
      const bool adds = p.adds || first > 0;
      const auto columns_from = [&](std::int64_t column, std::int64_t apart, auto columns) {
        for_some_rows(p, [&](std::int64_t row, auto rows) {
          float sums[decltype(rows)::value][decltype(columns)::value];
          Loops::multiply_rows(own.data() + row * own_step, own_step,
                               p.b + column * p.b_step + first, apart * p.b_step, terms, sums);
          for (std::int64_t i = 0; i < rows; ++i) {
            float* const to = p.result + (row + i) * p.result_step + column;
            for (std::int64_t j = 0; j < columns; ++j)
              to[j * apart] = adds ? to[j * apart] + sums[i][j] : sums[i][j];
          }
        });
      };
      // As measured: of long rows three, where there is little to compute; and of more than four
      // rows, as there are no registers for the sums of four columns.
      constexpr std::int64_t long_row = 512;
      const bool takes_three = (p.m <= 2 && terms > long_row) || (Loops::most_rows > 4 && p.m > 4);
      takes_three ? in_sequences<3>(p.n, columns_from) : in_sequences<4>(p.n, columns_from);
    }
  }

  // Few rows of a, and b as it is: each row of b is added to all rows of the result, some at a
  // time.

  /// Adds the product to sums, some columns of which begin there.
  static void add_few_rows(const Product<float>& p, std::int64_t column, std::int64_t columns,
                           const PlacesOfSums& to) {
    in_sequences<4>(p.k, [&](std::int64_t term, std::int64_t apart, auto terms) {
      for_some_rows(p, [&](std::int64_t row, auto rows) {
        float factors[decltype(rows)::value][decltype(terms)::value];
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t l = 0; l < terms; ++l) {
            factors[i][l] = scaled(p, row + i, term + l * apart);
          }
        }
        Loops::add_rows(factors, p.b + term * p.b_step + column, apart * p.b_step,
                        {to.sums + row * to.row_step, to.row_step, to.line_step}, columns);
      });
    });
  }

  static void multiply_few_rows(const Product<float>& p) {
    constexpr std::int64_t small = 4096;  // results in the first cache, whatever their rows share
    if (p.m * p.n <= small) {
      for (std::int64_t i = 0; i < p.m && !p.adds; ++i) {
        std::fill_n(p.result + i * p.result_step, p.n, 0.0F);
      }
      return add_few_rows(p, 0, p.n, {p.result, p.result_step, numbers_of_line});
    }
    // A line of each row in turn: rows a power of two apart would compete with those of b for the
    // same places of the first cache.
    constexpr std::int64_t line = numbers_of_line;
    const std::int64_t columns_at_once = taken_at_once(p.n, p.m), line_step = p.m * line;
    const LineRoom<float> sums(columns_at_once * p.m);
    for (std::int64_t column = 0; column < p.n; column += columns_at_once) {
      const std::int64_t columns = std::min(columns_at_once, p.n - column);
      std::fill_n(sums.data(), whole_lines(columns) * p.m, 0.0F);
      add_few_rows(p, column, columns, {sums.data(), line, line_step});
      for (std::int64_t i = 0; i < p.m; ++i) {
        float* const to = p.result + i * p.result_step + column;
        const float* const own = sums.data() + i * line;
        for (std::int64_t j = 0; j < columns; ++j) {
          const float sum = own[j / line * line_step + j % line];
          to[j] = p.adds ? to[j] + sum : sum;
        }
      }
    }
  }

  // Few terms: every row of the result is a sum of the few rows of b, which stay in a cache.

  /// A core that writes lines whole, one after the other, fetches none of them, or can go around
  /// its caches; rows are written together where they consist of such.
  static bool has_whole_lines(const Product<float>& p) {
    return reinterpret_cast<std::uintptr_t>(p.result) % (numbers_of_line * sizeof(float)) == 0 &&
           p.result_step % numbers_of_line == 0;
  }

  static void multiply_few_terms(const Product<float>& p) {
    constexpr std::int64_t columns_at_once = 16'384;  // of each term, in a cache
    const std::int64_t own_step = whole_lines(std::min(p.n, columns_at_once)) + between_rows;
    const bool has_lines = has_whole_lines(p);
    const LineRoom<float> own(p.k * own_step);
    with_number<most_thin_terms>(p.k, [&](auto number) {
      constexpr std::int64_t terms = decltype(number)::value;
      for (std::int64_t column = 0; column < p.n; column += columns_at_once) {
        const std::int64_t columns = std::min(columns_at_once, p.n - column);
        for (std::int64_t l = 0; l < terms; ++l) {
          std::copy_n(p.b + l * p.b_step + column, columns, own.data() + l * own_step);
        }
        std::int64_t row = 0;
        const auto by = [&](auto together) {
          constexpr std::int64_t rows = decltype(together)::value;
          for (; row + rows <= p.m; row += rows) {
            const WrittenRows to{p.result + row * p.result_step + column, p.result_step, columns,
                                 p.goes_around_caches && has_lines && !p.adds};
            p.adds
                ? Loops::template write_rows<true, terms, rows>(p, row, own.data(), own_step, to)
                : Loops::template write_rows<false, terms, rows>(p, row, own.data(), own_step, to);
          }
        };
        if (has_lines) by(std::integral_constant<std::int64_t, Loops::rows_together(terms)>());
        by(std::integral_constant<std::int64_t, 1>());
      }
    });
  }
};

}  // namespace strata::cpu
