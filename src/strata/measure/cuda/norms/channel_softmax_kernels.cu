// SPDX-License-Identifier: Apache-2.0
// Softmax along an axis that is not the last. Columns of up to some hundred numbers are kept in
// registers; longer ones are read twice.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/norms/axis_tiles.cuh"
#include "strata/measure/cuda/norms/softmax.cuh"
#include "strata/measure/cuda/norms/softmax_sums.cuh"

namespace strata::cuda::train {
namespace {

constexpr int most_threads = 512;

/// With `is_one_go`, what a thread read is still there when the sums are known.
template <class T, int width, bool is_one_go>
__global__ void __launch_bounds__(most_threads, least_blocks<T>)
    softmax_columns(AxisTiles tiles, bool is_log, T* y, const T* x) {
  using A = Compute<T>;
  using P = Items<T, width>;
  using Column = AxisColumn<T, width>;
  constexpr int count = axis_numbers<T, width>;
  const Column column(tiles);
  const int step = count * static_cast<int>(tiles.along);
  P v[count];
  ColumnSums<T, width> sums;
  for (int first = 0; first < column.length; first += step) {
    column.read(v, x, first);
    sums.add(column, v, first);
  }
  sums.join(tiles, reinterpret_cast<A*>(beside_registers));
  A log_sum[width];
#pragma unroll
  for (int j = 0; j < width; ++j) log_sum[j] = log(sums.column[j].sum);
  for (int first = 0; first < column.length; first += step) {
    if constexpr (!is_one_go) column.read(v, x, first);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      if (!column.has(Column::number(first, k))) continue;
      P out;
#pragma unroll
      for (int j = 0; j < width; ++j) {
        const A below = A(value(v[k].item[j])) - sums.column[j].most - log_sum[j];
        out.item[j] = stored<T>(is_log ? below : exp(below));
      }
      column.of(y, Column::number(first, k)) = out;
    }
  }
}

template <class T, int width, bool is_one_go>
__global__ void __launch_bounds__(most_threads, least_blocks<T>)
    softmax_columns_gradient(AxisTiles tiles, bool is_log, T* dx, const T* dy, const T* y) {
  using A = Compute<T>;
  using P = Items<T, width>;
  using Column = AxisColumn<T, width>;
  constexpr int count = axis_numbers<T, width>;
  const Column column(tiles);
  const int step = count * static_cast<int>(tiles.along);
  P d[count], v[count];
  A sum[width] = {};
  for (int first = 0; first < column.length; first += step) {
    column.read(d, dy, first);
    column.read(v, y, first);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      if (!column.has(Column::number(first, k))) continue;
#pragma unroll
      for (int j = 0; j < width; ++j)
        sum[j] += A(value(d[k].item[j])) * (is_log ? A(1) : A(value(v[k].item[j])));
    }
  }
  over_axis(tiles, sum, Sum{}, reinterpret_cast<A*>(beside_registers));
  with_slope<A>(is_log, [&](auto slope) {
    for (int first = 0; first < column.length; first += step) {
      if constexpr (!is_one_go) {
        column.read(d, dy, first);
        column.read(v, y, first);
      }
#pragma unroll
      for (int k = 0; k < count; ++k) {
        if (!column.has(Column::number(first, k))) continue;
        P out;
#pragma unroll
        for (int j = 0; j < width; ++j)
          out.item[j] = stored<T>(slope(A(value(d[k].item[j])), A(value(v[k].item[j])), sum[j]));
        column.of(dx, Column::number(first, k)) = out;
      }
    }
  });
}

/// Calls f(tiles, bytes of shared memory, width, whether a thread reads everything in one go).
template <class T, class F>
void with_tiles(const SoftmaxRun& run, bool is_packed, const F& f) {
  with_piece_width<T>(is_packed && run.inner % Pack<T>::size == 0, [&](auto width) {
    const AxisTiles tiles(run.outer, run.length, run.inner / width.value,
                          axis_numbers<T, width.value>);
    const auto bytes = static_cast<unsigned>(2 * tiles.shared(width.value) * sizeof(Compute<T>));
    if (tiles.is_one_go()) {
      f(tiles, bytes, width, std::true_type{});
    } else {
      f(tiles, bytes, width, std::false_type{});
    }
  });
}

}  // namespace

void channel_softmax(const SoftmaxRun& run, void* y, const void* x, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    with_tiles<T>(run, is_aligned(y) && is_aligned(x),
                  [&](const AxisTiles& tiles, unsigned bytes, auto width, auto is_one_go) {
                    softmax_columns<T, width.value, is_one_go.value>
                        <<<tiles.blocks(), tiles.block(), bytes, stream>>>(
                            tiles, run.is_log, static_cast<T*>(y), static_cast<const T*>(x));
                  });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void channel_softmax_gradient(const SoftmaxRun& run, void* dx, const void* dy, const void* y,
                              cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    with_tiles<T>(run, is_aligned(dx) && is_aligned(dy) && is_aligned(y),
                  [&](const AxisTiles& tiles, unsigned bytes, auto width, auto is_one_go) {
                    softmax_columns_gradient<T, width.value, is_one_go.value>
                        <<<tiles.blocks(), tiles.block(), bytes, stream>>>(
                            tiles, run.is_log, static_cast<T*>(dx), static_cast<const T*>(dy),
                            static_cast<const T*>(y));
                  });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
