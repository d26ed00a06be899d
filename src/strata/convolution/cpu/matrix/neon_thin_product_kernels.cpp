// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/matrix/thin_product_parts.hpp"

#ifdef __aarch64__

#include "strata/cpu/asked_lines.hpp"

#include <arm_neon.h>

#include <utility>

namespace strata::cpu {
namespace {

using Vector = float32x4_t;
constexpr std::int64_t lanes = 4, line = numbers_of_line;

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

struct NeonLoops {
  static constexpr std::int64_t most_rows = 4;

  /// sums[row][column] of rows of a, `a_step` apart, and rows of b.
  template <std::int64_t rows, std::int64_t columns>
  static void multiply_rows(const float* a, std::int64_t a_step, const float* b,
                            std::int64_t b_step, std::int64_t terms, float (&sums)[rows][columns]) {
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
        if (l < terms) sums[i][j] += rest_of_sum(a + i * a_step + l, b + j * b_step + l, terms - l);
      }
    }
  }

  /// Adds Σ factors[row][term] · rows of b, `apart` numbers apart, to rows of sums. A line of each
  /// row of b is read as a whole.
  template <std::int64_t rows, std::int64_t terms>
  static void add_rows(const float (&factors)[rows][terms], const float* b, std::int64_t apart,
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
        for (std::int64_t k = 0; k < 4; ++k)
          vst1q_f32(own + i * to.row_step + k * lanes, sums[i][k]);
      }
    }
    for (std::int64_t i = 0; i < rows && j < columns; ++i) {
      add_rest(factors[i], terms, b + j, apart, own + i * to.row_step, columns - j);
    }
  }

  /// So many rows of the result are written at a time, for which a number of b is loaded once: as
  /// many as gcc keeps in registers.
  static constexpr std::int64_t rows_together(std::int64_t terms) {
    if (terms <= 2) return 4;
    if (terms == 3) return 3;
    return terms < most_thin_terms ? 2 : 1;
  }

  /// Of the product p, from a row on; b: copies of so many columns of its terms.
  template <bool adds, std::int64_t terms, std::int64_t rows>
  static void write_rows(const Product<float>& p, std::int64_t row, const float* b,
                         std::int64_t b_step, const WrittenRows& to) {
    float* const result = to.first;
    const std::int64_t step = to.step, columns = to.columns;
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
    if (j < to.columns) write_rest(p, row, rows, b, b_step, to, j);
  }
};

}  // namespace

const ThinKernels* thin_kernels() {
  // On a Neoverse V1.
  static constexpr ThinKernels kernels{.multiply = ThinProduct<NeonLoops>::multiply,
                                       .most_rows = 8};
  return &kernels;
}

}  // namespace strata::cpu

#endif
