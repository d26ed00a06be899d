// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/norms/axis_tiles.cuh"
#include "strata/measure/cuda/norms/row_registers.cuh"

/// What softmax sums along rows and columns of any length, reading them once, and what comes of it.
/// For nvcc only.
namespace strata::cuda::train {

/// Calls `f` with what makes dx of dy, y and the sum of dy y (of dy, where y is a logarithm): one
/// decision for all numbers of a thread.
template <class A, class F>
__device__ void with_slope(bool is_log, const F& f) {
  if (is_log) {
    f([](A dy, A y, A sum) { return dy - exp(y) * sum; });
  } else {
    f([](A dy, A y, A sum) { return y * (dy - sum); });
  }
}

/// Σ exp(x) = exp(most) × sum, so that nothing overflows.
template <class A>
struct ExpSum {
  A most = A(-INFINITY), sum = 0;

  /// Where a larger number comes, the sum so far shrinks.
  __device__ void raise(A to) {
    if (!(to > most)) return;
    sum *= exp(most - to);
    most = to;
  }
  /// Of a number that is not above `most`. All of them may be −∞ so far.
  __device__ void add(A x) {
    if (most != A(-INFINITY)) sum += exp(x - most);
  }
  /// The sum as it is beside a larger number; that of nothing is 0.
  __device__ A beside(A larger) const {
    return most == A(-INFINITY) ? A(0) : sum * exp(most - larger);
  }
};

/// Of a team's row. Threads read `count` pieces at a time.
template <int count, class T, int width>
__device__ ExpSum<Compute<T>> exp_sum_of_row(const Items<T, width>* row, unsigned pieces,
                                             Compute<T> (&parts)[2][warp_threads]) {
  using A = Compute<T>;
  ExpSum<A> mine;
  for (unsigned first = 0; first < pieces; first += count * blockDim.x) {
    RowNumbers<T, width, count> numbers;
    numbers.read(row[first].item, pieces - first, A(-INFINITY));
    A most = A(-INFINITY);
    numbers.each([&](A x) { most = Larger{}(most, x); });
    mine.raise(most);
    numbers.each([&](A x) { mine.add(x); });
  }
  ExpSum<A> all;
  all.most = over_team(mine.most, Larger{}, A(-INFINITY), parts[0]);
  all.sum = over_team(mine.beside(all.most), Sum{}, A(0), parts[1]);
  return all;
}

/// The sums of the columns of a thread's place, the same for all threads that share them. `shared`
/// has room for two results of over_axis.
template <class T, int width>
struct ColumnSums {
  using A = Compute<T>;
  ExpSum<A> column[width];

  template <int count>
  __device__ void add(const AxisColumn<T, width>& place, const Items<T, width> (&pieces)[count],
                      int first) {
    A most[width];
#pragma unroll
    for (int j = 0; j < width; ++j) most[j] = A(-INFINITY);
    over_numbers(place, pieces, first, [&](int j, A x) { most[j] = Larger{}(most[j], x); });
#pragma unroll
    for (int j = 0; j < width; ++j) column[j].raise(most[j]);
    over_numbers(place, pieces, first, [&](int j, A x) { column[j].add(x); });
  }
  __device__ void join(const AxisTiles& tiles, A* shared) {
    A most[width], sum[width];
#pragma unroll
    for (int j = 0; j < width; ++j) most[j] = column[j].most;
    over_axis(tiles, most, Larger{}, shared);
#pragma unroll
    for (int j = 0; j < width; ++j) sum[j] = column[j].beside(most[j]);
    over_axis(tiles, sum, Sum{}, shared + tiles.shared(width));
#pragma unroll
    for (int j = 0; j < width; ++j) {
      column[j].most = most[j];
      column[j].sum = sum[j];
    }
  }

 private:
  template <int count, class F>
  __device__ static void over_numbers(const AxisColumn<T, width>& place,
                                      const Items<T, width> (&pieces)[count], int first, F f) {
#pragma unroll
    for (int k = 0; k < count; ++k) {
      if (!place.has(place.number(first, k))) continue;
#pragma unroll
      for (int j = 0; j < width; ++j) f(j, A(value(pieces[k].item[j])));
    }
  }
};

}  // namespace strata::cuda::train
