// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/matrix/thin_product.hpp"

#ifdef __aarch64__

#include "strata/measure/cpu/asked_lines.hpp"

#include <arm_neon.h>

#include <algorithm>
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

/// So far ahead lines are asked for of rows of which some are read side by side: what comes after
/// them.
std::int64_t asked_behind(std::int64_t rows, std::int64_t step) {
  return std::max(asked_ahead<float>, rows * step);
}

/// a[row][term]·alpha
float scaled(const Product<float>& p, std::int64_t row, std::int64_t term) {
  return p.alpha * (p.a_is_turned ? p.a[term * p.a_step + row] : p.a[row * p.a_step + term]);
}

// Few rows of a, and b turned: every result is the sum of products of two rows.

/// So many terms of all rows of a stay in a cache, where rows do not share places of the first one.
constexpr std::int64_t terms_at_once = 8192, between_rows = 80;

/// sums[row][column] of rows of a, `a_step` apart, and rows of b.
template <std::int64_t rows, std::int64_t columns>
void multiply_rows(const float* a, std::int64_t a_step, const float* b, std::int64_t b_step,
                   std::int64_t terms, float (&sums)[rows][columns]) {
  const std::int64_t ahead = asked_behind(columns, b_step);
  Vector parts[rows][columns] = {};
  std::int64_t l = 0;
  for (; l + line <= terms; l += line) {
#pragma GCC unroll 4
    for (std::int64_t j = 0; j < columns; ++j) ask_at(b + j * b_step + l + ahead);
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
    const auto columns_from = [&](std::int64_t column, auto columns) {
      for (std::int64_t row = 0; row < p.m; row += 4) {
        with_number<4>(std::min<std::int64_t>(4, p.m - row), [&](auto rows) {
          float sums[decltype(rows)::value][decltype(columns)::value];
          multiply_rows(own.data() + row * own_step, own_step, p.b + column * p.b_step + first,
                        p.b_step, terms, sums);
          for (std::int64_t i = 0; i < rows; ++i) {
            float* const to = p.result + (row + i) * p.result_step + column;
            for (std::int64_t j = 0; j < columns; ++j)
              to[j] = adds ? to[j] + sums[i][j] : sums[i][j];
          }
        });
      }
    };
    std::int64_t column = 0;
    for (; column + 4 <= p.n; column += 4) {
      columns_from(column, std::integral_constant<std::int64_t, 4>());
    }
    for (; column < p.n; ++column) columns_from(column, std::integral_constant<std::int64_t, 1>());
  }
}

// Few rows of a, and b as it is: each row of b is added to all rows of the result, some at a time.

/// result rows += Σ factors[row][term] · rows of b
template <std::int64_t rows, std::int64_t terms>
void add_rows(const float (&factors)[rows][terms], const float* b, std::int64_t b_step,
              float* result, std::int64_t step, std::int64_t columns) {
  const std::int64_t ahead = asked_behind(terms, b_step);
  std::int64_t j = 0;
  for (; j + line <= columns; j += line) {
#pragma GCC unroll 4
    for (std::int64_t l = 0; l < terms; ++l) ask_at(b + l * b_step + j + ahead);
#pragma GCC unroll 4
    for (std::int64_t k = j; k < j + line; k += lanes) {
      Vector own[terms];
#pragma GCC unroll 4
      for (std::int64_t l = 0; l < terms; ++l) own[l] = vld1q_f32(b + l * b_step + k);
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < rows; ++i) {
        Vector sum = vld1q_f32(result + i * step + k);
#pragma GCC unroll 4
        for (std::int64_t l = 0; l < terms; ++l) sum = vfmaq_n_f32(sum, own[l], factors[i][l]);
        vst1q_f32(result + i * step + k, sum);
      }
    }
  }
  for (; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t l = 0; l < terms; ++l) {
        result[i * step + j] += factors[i][l] * b[l * b_step + j];
      }
    }
  }
}

void multiply_few_rows(const Product<float>& p) {
  constexpr std::int64_t columns_at_once = 8192;  // of each row of the result, in a cache
  for (std::int64_t column = 0; column < p.n; column += columns_at_once) {
    const std::int64_t columns = std::min(columns_at_once, p.n - column);
    for (std::int64_t i = 0; i < p.m && !p.adds; ++i) {
      std::fill_n(p.result + i * p.result_step + column, columns, 0.0F);
    }
    const auto terms_from = [&](std::int64_t term, auto terms) {
      for (std::int64_t row = 0; row < p.m; row += 4) {
        with_number<4>(std::min<std::int64_t>(4, p.m - row), [&](auto rows) {
          float factors[decltype(rows)::value][decltype(terms)::value];
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t l = 0; l < terms; ++l) factors[i][l] = scaled(p, row + i, term + l);
          }
          add_rows(factors, p.b + term * p.b_step + column, p.b_step,
                   p.result + row * p.result_step + column, p.result_step, columns);
        });
      }
    };
    std::int64_t term = 0;
    for (; term + 4 <= p.k; term += 4) {
      terms_from(term, std::integral_constant<std::int64_t, 4>());
    }
    for (; term < p.k; ++term) terms_from(term, std::integral_constant<std::int64_t, 1>());
  }
}

// Few terms: every row of the result is a sum of the few rows of b, which stay in a cache.

template <bool adds, std::int64_t terms>
void write_row(const float (&factors)[terms], const float* b, std::int64_t b_step, float* result,
               std::int64_t columns) {
  std::int64_t j = 0;
  for (; j + line <= columns; j += line) {
    Vector sums[4];
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::int64_t at = j + k * lanes;
      if constexpr (adds) {
        sums[k] = vfmaq_n_f32(vld1q_f32(result + at), vld1q_f32(b + at), factors[0]);
      } else {
        sums[k] = vmulq_n_f32(vld1q_f32(b + at), factors[0]);
      }
#pragma GCC unroll 8
      for (std::int64_t l = 1; l < terms; ++l) {
        sums[k] = vfmaq_n_f32(sums[k], vld1q_f32(b + l * b_step + at), factors[l]);
      }
    }
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < 4; ++k) vst1q_f32(result + j + k * lanes, sums[k]);
  }
  for (; j < columns; ++j) {
    float sum = adds ? result[j] : 0;
    for (std::int64_t l = 0; l < terms; ++l) sum += factors[l] * b[l * b_step + j];
    result[j] = sum;
  }
}

void multiply_few_terms(const Product<float>& p) {
  constexpr std::int64_t columns_at_once = 16'384;  // of each term, in a cache
  with_number<most_terms>(p.k, [&](auto terms) {
    for (std::int64_t column = 0; column < p.n; column += columns_at_once) {
      const std::int64_t columns = std::min(columns_at_once, p.n - column);
      for (std::int64_t row = 0; row < p.m; ++row) {
        float factors[decltype(terms)::value];
        for (std::int64_t l = 0; l < terms; ++l) factors[l] = scaled(p, row, l);
        float* const to = p.result + row * p.result_step + column;
        p.adds ? write_row<true>(factors, p.b + column, p.b_step, to, columns)
               : write_row<false>(factors, p.b + column, p.b_step, to, columns);
      }
    }
  });
}

bool has_few_terms(const Product<float>& p) {
  return p.k > 0 && p.k <= most_terms && p.m > most_rows && !p.b_is_turned;
}

}  // namespace

bool is_thin(const Product<float>& p) {
  return (p.m <= most_rows && p.k > most_terms) || has_few_terms(p);
}

void multiply_thin(const Product<float>& p) {
  if (has_few_terms(p)) return multiply_few_terms(p);
  p.b_is_turned ? multiply_turned(p) : multiply_few_rows(p);
}

}  // namespace strata::cpu

#else

namespace strata::cpu {

bool is_thin(const Product<float>&) { return false; }
void multiply_thin(const Product<float>& product) { multiply_by_blas(product); }

}  // namespace strata::cpu

#endif
