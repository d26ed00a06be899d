// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/matrix/thin_product.hpp"

#ifdef __aarch64__

#include "strata/measure/cpu/asked_lines.hpp"
#include "strata/measure/cpu/row_sequences.hpp"

#include <arm_neon.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace strata::cpu {
namespace {

using Vector = float32x4_t;
constexpr std::int64_t lanes = 4, line = 16;

/// As measured on a Neoverse V1: with more, memory no longer limits them.
constexpr std::int64_t most_rows = 8, most_terms = 8;

/// Calls work(constant) for a number from 1 to `most`.
template <std::int64_t most, class Work>
void with_number(std::int64_t number, const Work& work) {
  if constexpr (most > 1) {
    if (number < most) return with_number<most - 1>(number, work);
  }
  work(std::integral_constant<std::int64_t, most>());
}

/// a[row][term]·alpha
float scaled(const Product<float>& p, std::int64_t row, std::int64_t term) {
  return p.alpha * (p.a_is_turned ? p.a[term * p.a_step + row] : p.a[row * p.a_step + term]);
}

/// How much of a row of b is taken at a time, so that as much of each of a few other rows stays in
/// the second cache: all of it, if possible, as b is read in order then.
std::int64_t taken_at_once(std::int64_t length, std::int64_t rows) {
  constexpr std::int64_t most = 131'072;
  const std::int64_t parts = std::max<std::int64_t>(1, (length * rows + most - 1) / most);
  const std::int64_t part = (length + parts - 1) / parts;
  return (part + line - 1) / line * line;
}

/// So many of a few rows have their sums in registers: at most four.
std::int64_t rows_at_once(std::int64_t rows) { return rows > 4 ? (rows + 1) / 2 : rows; }

// Few rows of a, and b turned: every result is the sum of products of two rows.

/// sums[row][column] of rows of a, `a_step` apart, and rows of b.
template <std::int64_t rows, std::int64_t columns>
void multiply_rows(const float* a, std::int64_t a_step, const float* b, std::int64_t b_step,
                   std::int64_t terms, float (&sums)[rows][columns]) {
  Vector parts[rows][columns] = {};
  std::int64_t l = 0;
  for (; l + line <= terms; l += line) {
#pragma GCC unroll 4
    for (std::int64_t j = 0; j < columns; ++j) ask_at(b + j * b_step + l + asked_ahead<float>);
#pragma GCC unroll 4
    for (std::int64_t k = l; k < l + line; k += lanes) {
      Vector own[rows];
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < rows; ++i) own[i] = vld1q_f32(a + i * a_step + k);
#pragma GCC unroll 4
      for (std::int64_t j = 0; j < columns; ++j) {
        const Vector other = vld1q_f32(b + j * b_step + k);
#pragma GCC unroll 4
        for (std::int64_t i = 0; i < rows; ++i) {
          parts[i][j] = vfmaq_f32(parts[i][j], own[i], other);
        }
      }
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      sums[i][j] = vaddvq_f32(parts[i][j]);
      for (std::int64_t k = l; k < terms; ++k) sums[i][j] += a[i * a_step + k] * b[j * b_step + k];
    }
  }
}

void multiply_turned(const Product<float>& p) {
  const std::int64_t terms_at_once = taken_at_once(p.k, p.m), at_once = rows_at_once(p.m);
  const std::int64_t own_step = std::min(p.k, terms_at_once) + between_rows;
  std::vector<float> own(static_cast<std::size_t>(p.m * own_step));
  for (std::int64_t first = 0; first < p.k; first += terms_at_once) {
    const std::int64_t terms = std::min(terms_at_once, p.k - first);
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t l = 0; l < terms; ++l) {
        own[static_cast<std::size_t>(i * own_step + l)] = scaled(p, i, first + l);
      }
    }
    const bool adds = p.adds || first > 0;
    const auto columns_from = [&](std::int64_t column, std::int64_t apart, auto columns) {
      for (std::int64_t row = 0; row < p.m; row += at_once) {
        with_number<4>(std::min(at_once, p.m - row), [&](auto rows) {
          float sums[decltype(rows)::value][decltype(columns)::value];
          multiply_rows(own.data() + row * own_step, own_step, p.b + column * p.b_step + first,
                        apart * p.b_step, terms, sums);
          for (std::int64_t i = 0; i < rows; ++i) {
            float* const to = p.result + (row + i) * p.result_step + column;
            for (std::int64_t j = 0; j < columns; ++j)
              to[j * apart] = adds ? to[j * apart] + sums[i][j] : sums[i][j];
          }
        });
      }
    };
    // As measured: of long rows three, where there is little to compute.
    constexpr std::int64_t long_row = 512;
    const bool takes_three = p.m <= 2 && terms > long_row;
    takes_three ? in_sequences<3>(p.n, columns_from) : in_sequences<4>(p.n, columns_from);
  }
}

// Few rows of a, and b as it is: each row of b is added to all rows of the result, some at a time.

/// Keeps gcc from moving loads across, as it would until registers are short and sums lie in
/// memory.
inline __attribute__((always_inline)) void keep_order() { __asm__ volatile("" ::: "memory"); }

/// Calls work(constant) for 0, 1, … below count.
template <std::int64_t count, class Work>
inline __attribute__((always_inline)) void for_each_below(const Work& work) {
  [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
    (work(std::integral_constant<std::int64_t, static_cast<std::int64_t>(i)>()), ...);
  }
  (std::make_index_sequence<static_cast<std::size_t>(count)>());
}

/// Where sums of some rows of a result lie: how far it is from one row to the next, and from one
/// line of a row to its next.
struct PlacesOfSums {
  float* sums;
  std::int64_t row_step, line_step;
};

/// Adds Σ factors[row][term] · rows of b, `apart` numbers apart, to rows of sums. A line of each
/// row of b is read as a whole.
template <std::int64_t rows, std::int64_t terms>
void add_rows(const float (&factors)[rows][terms], const float* b, std::int64_t apart,
              PlacesOfSums to, std::int64_t columns) {
  constexpr std::int64_t whole = (terms + lanes - 1) / lanes;
  Vector in_lanes[rows][whole];
  for (std::int64_t i = 0; i < rows; ++i) {
    float padded[whole * lanes] = {};
    std::copy_n(factors[i], terms, padded);
    for (std::int64_t l = 0; l < whole; ++l) in_lanes[i][l] = vld1q_f32(padded + l * lanes);
  }
  std::int64_t j = 0;
  float* own = to.sums;
  for (; j + line <= columns; j += line, own += to.line_step) {
    Vector sums[rows][4];
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < 4; ++k)
        sums[i][k] = vld1q_f32(own + i * to.row_step + k * lanes);
    }
    for_each_below<terms>([&](auto term) __attribute__((always_inline)) {
      constexpr std::int64_t l = decltype(term)::value;
      const float* const from = b + l * apart + j;
      ask_at(from + asked_ahead<float>);
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < 4; ++k) {
        const Vector number = vld1q_f32(from + k * lanes);
#pragma GCC unroll 4
        for (std::int64_t i = 0; i < rows; ++i) {
          sums[i][k] = vfmaq_laneq_f32(sums[i][k], number, in_lanes[i][l / lanes], l % lanes);
        }
      }
      keep_order();
    });
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < 4; ++k) vst1q_f32(own + i * to.row_step + k * lanes, sums[i][k]);
    }
  }
  for (std::int64_t k = 0; j + k < columns; ++k) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t l = 0; l < terms; ++l) {
        own[i * to.row_step + k] += factors[i][l] * b[l * apart + j + k];
      }
    }
  }
}

/// Adds the product to sums, some columns of which begin there.
void add_few_rows(const Product<float>& p, std::int64_t column, std::int64_t columns,
                  const PlacesOfSums& to) {
  const std::int64_t at_once = rows_at_once(p.m);
  in_sequences<4>(p.k, [&](std::int64_t term, std::int64_t apart, auto terms) {
    for (std::int64_t row = 0; row < p.m; row += at_once) {
      with_number<4>(std::min(at_once, p.m - row), [&](auto rows) {
        float factors[decltype(rows)::value][decltype(terms)::value];
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t l = 0; l < terms; ++l) {
            factors[i][l] = scaled(p, row + i, term + l * apart);
          }
        }
        add_rows(factors, p.b + term * p.b_step + column, apart * p.b_step,
                 {to.sums + row * to.row_step, to.row_step, to.line_step}, columns);
      });
    }
  });
}

void multiply_few_rows(const Product<float>& p) {
  constexpr std::int64_t small = 4096;  // results in the first cache, whatever their rows share
  if (p.m * p.n <= small) {
    for (std::int64_t i = 0; i < p.m && !p.adds; ++i) {
      std::fill_n(p.result + i * p.result_step, p.n, 0.0F);
    }
    return add_few_rows(p, 0, p.n, {p.result, p.result_step, line});
  }
  // A line of each row in turn: rows a power of two apart would compete with those of b for the
  // same places of the first cache.
  const std::int64_t columns_at_once = taken_at_once(p.n, p.m), line_step = p.m * line;
  std::vector<float> sums;
  for (std::int64_t column = 0; column < p.n; column += columns_at_once) {
    const std::int64_t columns = std::min(columns_at_once, p.n - column);
    sums.assign(static_cast<std::size_t>((columns + line - 1) / line * line_step), 0.0F);
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

/// So many rows of the result are written at a time, for which a number of b is loaded once: as
/// many as gcc keeps in registers.
constexpr std::int64_t rows_together(std::int64_t terms) {
  if (terms <= 2) return 4;
  if (terms == 3) return 3;
  return terms < most_terms ? 2 : 1;
}

/// A core that writes lines whole, one after the other, fetches none of them; rows are written
/// together where they consist of such.
bool has_whole_lines(const Product<float>& p) {
  return reinterpret_cast<std::uintptr_t>(p.result) % (line * sizeof(float)) == 0 &&
         p.result_step % line == 0;
}

/// Of the product p, from a row on; b: copies of so many columns of its terms.
template <bool adds, std::int64_t terms, std::int64_t rows>
void write_rows(const Product<float>& p, std::int64_t row, const float* b, std::int64_t b_step,
                float* result, std::int64_t columns) {
  const std::int64_t step = p.result_step;
  // In registers from the beginning: a store in between would end a stream of whole lines, too.
  Vector factors[terms] = {};
#pragma GCC unroll 8
  for (std::int64_t l = 0; l < terms; ++l) {
    for_each_below<rows>([&](auto number) __attribute__((always_inline)) {
      constexpr std::int64_t i = decltype(number)::value;
      factors[l] = vsetq_lane_f32(scaled(p, row + i, l), factors[l], i);
    });
  }
  std::int64_t j = 0;
  for (; j + line <= columns; j += line) {
    Vector sums[rows][4];
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::int64_t at = j + k * lanes;
#pragma GCC unroll 8
      for (std::int64_t l = 0; l < terms; ++l) {
        const Vector own = vld1q_f32(b + l * b_step + at);
        for_each_below<rows>([&](auto number) __attribute__((always_inline)) {
          constexpr std::int64_t i = decltype(number)::value;
          if (l == 0 && !adds) {
            sums[i][k] = vmulq_laneq_f32(own, factors[0], i);
          } else {
            const Vector before = l > 0 ? sums[i][k] : vld1q_f32(result + i * step + at);
            sums[i][k] = vfmaq_laneq_f32(before, own, factors[l], i);
          }
        });
      }
    }
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < 4; ++k) {
        vst1q_f32(result + i * step + j + k * lanes, sums[i][k]);
      }
    }
  }
  for (; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) {
      float& to = result[i * step + j];
      float sum = adds ? to : 0;
      for (std::int64_t l = 0; l < terms; ++l) sum += scaled(p, row + i, l) * b[l * b_step + j];
      to = sum;
    }
  }
}

void multiply_few_terms(const Product<float>& p) {
  constexpr std::int64_t columns_at_once = 16'384;  // of each term, in a cache
  const std::int64_t own_step = std::min(p.n, columns_at_once) + between_rows;
  std::vector<float> own(static_cast<std::size_t>(p.k * own_step));
  with_number<most_terms>(p.k, [&](auto number) {
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
          float* const to = p.result + row * p.result_step + column;
          p.adds ? write_rows<true, terms, rows>(p, row, own.data(), own_step, to, columns)
                 : write_rows<false, terms, rows>(p, row, own.data(), own_step, to, columns);
        }
      };
      if (has_whole_lines(p)) by(std::integral_constant<std::int64_t, rows_together(terms)>());
      by(std::integral_constant<std::int64_t, 1>());
    }
  });
}

bool has_few_rows(const Product<float>& p) { return p.m <= most_rows && p.k > most_terms; }

bool has_few_terms(const Product<float>& p) {
  return p.k > 0 && p.k <= most_terms && p.m > most_rows && !p.b_is_turned;
}

}  // namespace

bool is_thin(const Product<float>& p) { return has_few_rows(p) || has_few_terms(p); }

bool reads_rows_once(const Product<float>& p) { return has_few_rows(p) && !p.b_is_turned; }

void multiply_thin(const Product<float>& p) {
  if (has_few_terms(p)) return multiply_few_terms(p);
  p.b_is_turned ? multiply_turned(p) : multiply_few_rows(p);
}

}  // namespace strata::cpu

#else

namespace strata::cpu {

bool is_thin(const Product<float>&) { return false; }
bool reads_rows_once(const Product<float>&) { return false; }
void multiply_thin(const Product<float>& product) { multiply_by_blas(product); }

}  // namespace strata::cpu

#endif
