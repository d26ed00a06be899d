// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Work on spectra, one frequency per lane. Spectra are stored in blocks of 16 frequencies, 16 real
/// parts before 16 imaginary ones, with the blocks of all tensors of a kind side by side: a product
/// of spectra is then as many small matrix products as there are blocks.
namespace strata::cpu {

inline constexpr std::int64_t frequency_block = 16;
inline constexpr std::int64_t block_floats = 2 * frequency_block;

/// Two rows of numbers become one of complex numbers; without b the imaginary parts are zero.
/// Writes whole vectors: up to 32 floats beyond the end.
void join_rows(const float* a, const float* b, std::int64_t count, float* complex_row);

/// And back, times `scale`. Reads and writes whole vectors: up to 16 numbers beyond the end.
void split_row(const float* complex_row, std::int64_t count, float scale, float* a, float* b);

/// `frequencies` complex numbers, a multiple of the block, to blocks at to, to + step, …
void store_spectrum(const float* spectrum, std::int64_t frequencies, float* to, std::int64_t step);
void load_spectrum(const float* from, std::int64_t step, std::int64_t frequencies, float* spectrum);

/// For the frequencies of one block, with rows and columns of blocks:
///   result[r][c] (+)= Σ_k conj(a[r][k]) · b[c][k]
/// Steps are in floats.
struct SpectrumProduct {
  std::int64_t rows = 0, columns = 0, terms = 0;
  const float* a = nullptr;
  std::int64_t a_row_step = 0, a_term_step = 0;
  const float* b = nullptr;
  std::int64_t b_column_step = 0, b_term_step = 0;
  float* result = nullptr;
  std::int64_t result_row_step = 0, result_column_step = 0;
  bool adds = false;
};
void multiply_spectra(const SpectrumProduct& product);

}  // namespace strata::cpu
