// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/matrix/thin_product_parts.hpp"

// NEON's are written with its own instructions: neon_thin_product_kernels.cpp.
#ifndef __aarch64__

#include "strata/cpu/per_target.hpp"

#include <algorithm>

// Vectors stand in arrays here; and every target costs seconds of compilation.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/convolution/cpu/matrix/highway_thin_product_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// OpenBLAS has them where there is neither.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace strata::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Vectors = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Vectors>;

constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(Vectors()));
/// AVX-512 has 32 registers, the others 16.
constexpr bool has_many_registers = lanes == 16;

struct Loops {
  static constexpr std::int64_t most_rows = has_many_registers ? 8 : 4;

  /// sums[row][column] of rows of a, `a_step` apart, and rows of b.
  template <std::int64_t rows, std::int64_t columns>
  static void multiply_rows(const float* HWY_RESTRICT a, std::int64_t a_step,
                            const float* HWY_RESTRICT b, std::int64_t b_step, std::int64_t terms,
                            float (&sums)[rows][columns]) {
    const Vectors d;
    Vector parts[rows][columns];
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) parts[i][j] = hn::Zero(d);
    }
    std::int64_t k = 0;
    for (; k + lanes <= terms; k += lanes) {
      Vector other[columns];
#pragma GCC unroll 8
      for (std::int64_t j = 0; j < columns; ++j) other[j] = hn::LoadU(d, b + j * b_step + k);
#pragma GCC unroll 8
      for (std::int64_t i = 0; i < rows; ++i) {
        const Vector own = hn::LoadU(d, a + i * a_step + k);
#pragma GCC unroll 8
        for (std::int64_t j = 0; j < columns; ++j) {
          parts[i][j] = hn::MulAdd(own, other[j], parts[i][j]);
        }
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        sums[i][j] = hn::GetLane(hn::SumOfLanes(d, parts[i][j]));
        if (k < terms) sums[i][j] += rest_of_sum(a + i * a_step + k, b + j * b_step + k, terms - k);
      }
    }
  }

  /// Adds Σ factors[row][term] · rows of b, `apart` numbers apart, to rows of sums.
  template <std::int64_t rows, std::int64_t terms>
  static void add_rows(const float (&factors)[rows][terms], const float* HWY_RESTRICT b,
                       std::int64_t apart, PlacesOfSums to, std::int64_t columns) {
    constexpr std::int64_t line = numbers_of_line;
    const Vectors d;
    Vector in_all[rows][terms];
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t l = 0; l < terms; ++l) in_all[i][l] = hn::Set(d, factors[i][l]);
    }
    std::int64_t j = 0;
    float* HWY_RESTRICT own = to.sums;
    for (; j + line <= columns; j += line, own += to.line_step) {
#pragma GCC unroll 8
      for (std::int64_t k = 0; k < line; k += lanes) {
        Vector numbers[terms];
#pragma GCC unroll 8
        for (std::int64_t l = 0; l < terms; ++l) numbers[l] = hn::LoadU(d, b + l * apart + j + k);
#pragma GCC unroll 8
        for (std::int64_t i = 0; i < rows; ++i) {
          Vector sum = hn::LoadU(d, own + i * to.row_step + k);
#pragma GCC unroll 8
          for (std::int64_t l = 0; l < terms; ++l) sum = hn::MulAdd(numbers[l], in_all[i][l], sum);
          hn::StoreU(sum, d, own + i * to.row_step + k);
        }
      }
    }
    for (std::int64_t i = 0; i < rows && j < columns; ++i) {
      add_rest(factors[i], terms, b + j, apart, own + i * to.row_step, columns - j);
    }
  }

  /// So many rows of the result are written at a time, for which a number of b is loaded once: as
  /// many as have their factors in registers.
  static constexpr std::int64_t rows_together(std::int64_t terms) {
    return std::clamp<std::int64_t>((has_many_registers ? 20 : 8) / terms, 1, 4);
  }

  /// Of the product p, from a row on; b: copies of so many columns of its terms.
  template <bool adds, std::int64_t terms, std::int64_t rows>
  static void write_rows(const Product<float>& p, std::int64_t row, const float* HWY_RESTRICT b,
                         std::int64_t b_step, const WrittenRows& to) {
    const Vectors d;
    Vector factors[rows][terms];
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t l = 0; l < terms; ++l) factors[i][l] = hn::Set(d, scaled(p, row + i, l));
    }
    const auto write = [&](std::int64_t j, auto store) HWY_ATTR {
      Vector own[terms];
#pragma GCC unroll 8
      for (std::int64_t l = 0; l < terms; ++l) own[l] = hn::LoadU(d, b + l * b_step + j);
#pragma GCC unroll 8
      for (std::int64_t i = 0; i < rows; ++i) {
        float* const place = to.first + i * to.step + j;
        Vector sum = hn::Mul(own[0], factors[i][0]);
        if constexpr (adds) sum = hn::Add(sum, hn::LoadU(d, place));
#pragma GCC unroll 8
        for (std::int64_t l = 1; l < terms; ++l) sum = hn::MulAdd(own[l], factors[i][l], sum);
        store(sum, place);
      }
    };
    std::int64_t j = 0;
    if (to.goes_around_caches) {
      for (; j + lanes <= to.columns; j += lanes) {
        write(j, [d](Vector sum, float* place) HWY_ATTR { hn::Stream(sum, d, place); });
      }
    } else {
      for (; j + lanes <= to.columns; j += lanes) {
        write(j, [d](Vector sum, float* place) HWY_ATTR { hn::StoreU(sum, d, place); });
      }
    }
    if (j < to.columns) write_rest(p, row, rows, b, b_step, to, j);
  }
};

// On a Xeon of the Cascade Lake generation. With AVX-512, OpenBLAS multiplies up to a million
// numbers without packing them.
constexpr ThinKernels kernels{.multiply = ThinProduct<Loops>::multiply,
                              .most_rows = has_many_registers ? 16 : 8,
                              .least_numbers = has_many_registers ? 131'072 : 65'536,
                              .least_products = has_many_registers ? 1'000'000 : 0};
[[maybe_unused]] const bool is_listed = compiled_kernels<ThinKernels>().add(HWY_TARGET, kernels);

}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE
namespace strata::cpu {

const ThinKernels* thin_kernels() { return best_kernels_if_any<ThinKernels>(); }

}  // namespace strata::cpu
#endif

#endif
