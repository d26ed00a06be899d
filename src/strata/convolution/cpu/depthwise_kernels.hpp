// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The inner loops of convolutions whose channels do not mix, over planes in the first caches whose
/// rows lie `pitch` apart: what is a shift in two dimensions is one offset there.
namespace strata::cpu {

/// Behind each plane so many floats may be read: loops do whole vectors only.
inline constexpr std::int64_t room_behind_planes = 64;

/// Rows of a tensor, in turn into planes that have every stride-th row each.
struct RowCopies {
  const float* from = nullptr;
  std::int64_t rows = 0, columns = 0;
  float* const* to = nullptr;  ///< where the first row of each plane goes
  std::int64_t planes = 1;
  std::int64_t pitch = 0;

  /// Calls copy(row of the tensor, plane, place in that plane) for all rows.
  template <class Copy>
  void each_row(const Copy& copy) const {
    const float* row = from;
    const float* const end = from + rows * columns;
    for (std::int64_t place = 0; row < end; place += pitch) {
      for (std::int64_t p = 0; p < planes && row < end; ++p, row += columns) copy(row, p, place);
    }
  }
};
void copy_rows(const RowCopies& copies);
/// Columns in turn, too: those from column 1 on go to planes of their own.
void split_rows(const RowCopies& even, float* const* odd);

/// Taps of a plane: where each begins, and what its numbers are multiplied with.
struct PlaneTaps {
  const float* plane = nullptr;
  const std::int64_t* offsets = nullptr;
  const float* weights = nullptr;
  std::int64_t count = 0;
};

/// result[y][x] = Σ weight · plane[offset + y·pitch + x] over taps
struct RowSums {
  PlaneTaps taps;
  std::int64_t pitch = 0;
  float* result = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t step = 0;  ///< between rows of the result
};
void sum_rows(const RowSums& sums);
/// The same where odd columns are sums over taps of their own: column 2x is that of sums.taps at x,
/// column 2x + 1 that of `odd` at x.
void sum_rows_in_turn(const RowSums& sums, const PlaneTaps& odd);

/// totals[t] += Σ gradient[y][x] · plane[offsets[t] + y·pitch + x]
struct PlaneProducts {
  const float* plane = nullptr;
  const std::int64_t* offsets = nullptr;
  std::int64_t taps = 0;
  std::int64_t pitch = 0;
  const float* gradient = nullptr;
  std::int64_t rows = 0, columns = 0;
  double* totals = nullptr;
};
void multiply_planes(const PlaneProducts& products);

}  // namespace strata::cpu
