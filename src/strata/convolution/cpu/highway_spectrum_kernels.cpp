// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/kernel_tables.hpp"
#include "strata/cpu/per_target.hpp"

// Vectors stand in arrays here; and every target costs seconds of compilation.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/convolution/cpu/highway_spectrum_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Vectors = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Vectors>;

HWY_INLINE std::int64_t lanes_of(Vectors d) { return static_cast<std::int64_t>(hn::Lanes(d)); }

void join_rows(const float* a, const float* b, std::int64_t count, float* complex_row) {
  const Vectors d;
  for (std::int64_t i = 0; i < count; i += lanes_of(d)) {
    hn::StoreInterleaved2(hn::LoadU(d, a + i), b == nullptr ? hn::Zero(d) : hn::LoadU(d, b + i), d,
                          complex_row + 2 * i);
  }
}

void split_row(const float* complex_row, std::int64_t count, float scale, float* a, float* b) {
  const Vectors d;
  const Vector factor = hn::Set(d, scale);
  for (std::int64_t i = 0; i < count; i += lanes_of(d)) {
    Vector real, imaginary;
    hn::LoadInterleaved2(d, complex_row + 2 * i, real, imaginary);
    hn::StoreU(hn::Mul(real, factor), d, a + i);
    hn::StoreU(hn::Mul(imaginary, factor), d, b + i);
  }
}

void store_spectrum(const float* spectrum, std::int64_t frequencies, float* to, std::int64_t step) {
  const Vectors d;
  for (std::int64_t f = 0; f < frequencies; f += frequency_block, to += step) {
    for (std::int64_t i = 0; i < frequency_block; i += lanes_of(d)) {
      Vector real, imaginary;
      hn::LoadInterleaved2(d, spectrum + 2 * (f + i), real, imaginary);
      hn::StoreU(real, d, to + i);
      hn::StoreU(imaginary, d, to + frequency_block + i);
    }
  }
}

void load_spectrum(const float* from, std::int64_t step, std::int64_t frequencies,
                   float* spectrum) {
  const Vectors d;
  for (std::int64_t f = 0; f < frequencies; f += frequency_block, from += step) {
    for (std::int64_t i = 0; i < frequency_block; i += lanes_of(d)) {
      hn::StoreInterleaved2(hn::LoadU(d, from + i), hn::LoadU(d, from + frequency_block + i), d,
                            spectrum + 2 * (f + i));
    }
  }
}

// 4 × 3 complex sums in 32 registers; 2 × 2 where there are 16.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
constexpr int tile_rows = 2;
constexpr int tile_columns = 2;
#else
constexpr int tile_rows = 4;
constexpr int tile_columns = 3;
#endif

template <int Rows, int Columns>
HWY_INLINE void multiply_tile(const SpectrumProduct& p, const float* a, const float* b,
                              float* result) {
  const Vectors d;
  Vector real[Rows][Columns];
  Vector imaginary[Rows][Columns];
  // Unrolled, as sums that a loop picks out of an array would be in memory all the time.
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) {
      const float* const at = result + r * p.result_row_step + c * p.result_column_step;
      real[r][c] = p.adds ? hn::LoadU(d, at) : hn::Zero(d);
      imaginary[r][c] = p.adds ? hn::LoadU(d, at + frequency_block) : hn::Zero(d);
    }
  }
  for (std::int64_t k = 0; k < p.terms; ++k, a += p.a_term_step, b += p.b_term_step) {
    Vector b_real[Columns];
    Vector b_imaginary[Columns];
    for (int c = 0; c < Columns; ++c) {
      b_real[c] = hn::LoadU(d, b + c * p.b_column_step);
      b_imaginary[c] = hn::LoadU(d, b + c * p.b_column_step + frequency_block);
    }
    for (int r = 0; r < Rows; ++r) {
      const Vector a_real = hn::LoadU(d, a + r * p.a_row_step);
      const Vector a_imaginary = hn::LoadU(d, a + r * p.a_row_step + frequency_block);
      for (int c = 0; c < Columns; ++c) {
        real[r][c] = hn::MulAdd(a_real, b_real[c], real[r][c]);
        imaginary[r][c] = hn::MulAdd(a_real, b_imaginary[c], imaginary[r][c]);
        real[r][c] = hn::MulAdd(a_imaginary, b_imaginary[c], real[r][c]);
        imaginary[r][c] = hn::NegMulAdd(a_imaginary, b_real[c], imaginary[r][c]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) {
      float* const at = result + r * p.result_row_step + c * p.result_column_step;
      hn::StoreU(real[r][c], d, at);
      hn::StoreU(imaginary[r][c], d, at + frequency_block);
    }
  }
}

template <int Rows, int Columns>
void multiply_column(const SpectrumProduct& p, std::int64_t row, std::int64_t column,
                     std::int64_t lane) {
  multiply_tile<Rows, Columns>(
      p, p.a + row * p.a_row_step + lane, p.b + column * p.b_column_step + lane,
      p.result + row * p.result_row_step + column * p.result_column_step + lane);
}

template <int Rows>
void multiply_rows(const SpectrumProduct& p, std::int64_t row, std::int64_t lane) {
  std::int64_t c = 0;
  for (; c + tile_columns <= p.columns; c += tile_columns) {
    multiply_column<Rows, tile_columns>(p, row, c, lane);
  }
  if (c + 2 <= p.columns) {
    multiply_column<Rows, 2>(p, row, c, lane);
    c += 2;
  }
  if (c < p.columns) multiply_column<Rows, 1>(p, row, c, lane);
}

void multiply_spectra(const SpectrumProduct& p) {
  for (std::int64_t lane = 0; lane < frequency_block; lane += lanes_of(Vectors())) {
    std::int64_t row = 0;
    for (; row + tile_rows <= p.rows; row += tile_rows) multiply_rows<tile_rows>(p, row, lane);
    for (; row < p.rows; ++row) multiply_rows<1>(p, row, lane);
  }
}

}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace strata::cpu::HWY_NAMESPACE {
namespace {
[[maybe_unused]] const bool is_listed = compiled_kernels<SpectrumKernels>().add(
    HWY_TARGET, {join_rows, split_row, store_spectrum, load_spectrum, multiply_spectra});
}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE

#if HWY_ONCE
namespace strata::cpu {

void join_rows(const float* a, const float* b, std::int64_t count, float* complex_row) {
  best_kernels<SpectrumKernels>().join_rows(a, b, count, complex_row);
}
void split_row(const float* complex_row, std::int64_t count, float scale, float* a, float* b) {
  best_kernels<SpectrumKernels>().split_row(complex_row, count, scale, a, b);
}
void store_spectrum(const float* spectrum, std::int64_t frequencies, float* to, std::int64_t step) {
  best_kernels<SpectrumKernels>().store_spectrum(spectrum, frequencies, to, step);
}
void load_spectrum(const float* from, std::int64_t step, std::int64_t frequencies,
                   float* spectrum) {
  best_kernels<SpectrumKernels>().load_spectrum(from, step, frequencies, spectrum);
}
void multiply_spectra(const SpectrumProduct& product) {
  best_kernels<SpectrumKernels>().multiply_spectra(product);
}

}  // namespace strata::cpu
#endif  // HWY_ONCE
