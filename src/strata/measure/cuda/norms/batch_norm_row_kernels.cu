// SPDX-License-Identifier: Apache-2.0
// Rows of channels: sums of columns, their parts added, and then every row is gone over, the last
// ones first, as they are still in L2.
#include "strata/measure/cuda/norms/batch_norm.cuh"

namespace strata::cuda::train {
namespace {

template <class T>
struct FinishStatistics {
  Channel<T> memory;
  Compute<T> rows;
  __device__ void operator()(std::int64_t channel, Compute<T> first, Compute<T> second) const {
    using A = Compute<T>;
    const Statistics<A> found({first, second}, A(value(memory.x[channel])), rows);
    keep_statistics(memory, channel, found, rows);
  }
};
template <class T>
struct FinishGradients {
  Gradients<T> memory;
  Pair<Compute<T>>* sums;
  __device__ void operator()(std::int64_t channel, Compute<T> first, Compute<T> second) const {
    keep_gradients(memory, channel, {first, second});
    sums[channel] = {first, second};
  }
};

/// What is done with a number of a column, prepared once for all rows.
template <class T>
struct NormalizedColumn {
  Channel<T> memory;
  bool by_running;
  __device__ auto prepared(std::int64_t channel) const {
    if (by_running) return scaled_by_running(memory, channel);
    return scaled_by(memory, channel, memory.statistics[2 * channel],
                     memory.statistics[2 * channel + 1]);
  }
};
template <class T>
struct SpreadColumn {
  Gradients<T> memory;
  const Pair<Compute<T>>* sums;
  Compute<T> rows;
  __device__ auto prepared(std::int64_t channel) const {
    return spread_of(memory, channel, sums[channel], rows);
  }
};

/// Block (32 lanes' columns, part of the rows), the last rows first.
template <class T, int inputs, int width, class Column>
__global__ void __launch_bounds__(threads_per_block)
    map_columns(T* y, const T* a, const T* b, std::int64_t rows, std::int64_t columns,
                Column column) {
  using A = Compute<T>;
  using N = Items<T, width>;
  constexpr int row_threads = threads_per_block / 32;
  const std::int64_t first = (std::int64_t{blockIdx.x} * 32 + threadIdx.x % 32) * width;
  if (first >= columns) return;
  decltype(column.prepared(0)) prepared[width];
#pragma unroll
  for (int j = 0; j < width; ++j) prepared[j] = column.prepared(first + j);
  const std::int64_t step = std::int64_t{gridDim.y} * row_threads;
  for (std::int64_t row = rows - 1 - (blockIdx.y * row_threads + threadIdx.x / 32); row >= 0;
       row -= loads_ahead * step) {
    N na[loads_ahead], nb[loads_ahead];
#pragma unroll
    for (int k = 0; k < loads_ahead; ++k) {
      if (row < k * step) continue;
      const std::int64_t place = ((row - k * step) * columns + first) / width;
      na[k] = reinterpret_cast<const N*>(a)[place];
      if constexpr (inputs > 1) nb[k] = reinterpret_cast<const N*>(b)[place];
    }
#pragma unroll
    for (int k = 0; k < loads_ahead; ++k) {
      if (row < k * step) continue;
      N out;
#pragma unroll
      for (int j = 0; j < width; ++j) {
        const A v = value(na[k].item[j]);
        out.item[j] = stored<T>(prepared[j](v, inputs > 1 ? A(value(nb[k].item[j])) : v));
      }
      reinterpret_cast<N*>(y)[((row - k * step) * columns + first) / width] = out;
    }
  }
}

template <class T, int inputs, class Column>
void launch_columns(const ChannelArray& array, T* y, const T* a, const T* b, Column column,
                    cudaStream_t stream) {
  constexpr std::int64_t enough_blocks = 2048;
  const auto launch = [&](auto numbers) {
    constexpr int width = numbers.value;
    const unsigned across = blocks_for(array.channels, 32 * width);
    const auto down = static_cast<unsigned>(std::clamp<std::int64_t>(
        enough_blocks / across, 1, std::max<std::int64_t>(array.rows / 16, 1)));
    map_columns<T, inputs, width><<<dim3(across, down), threads_per_block, 0, stream>>>(
        y, a, b, array.rows, array.channels, column);
  };
  constexpr int whole = Pack<T>::size;
  if (array.channels % whole == 0 && is_aligned(y) && is_aligned(a) && is_aligned(b)) {
    launch(std::integral_constant<int, whole>{});
  } else {
    launch(std::integral_constant<int, 1>{});
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace

void batch_norm_of_rows(const ChannelArray& array, const BatchNormMemory& memory, bool by_running,
                        cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    using A = Compute<T>;
    const Channel<T> channel = channel_of<T>(memory);
    if (!by_running) {
      auto* const partials = static_cast<A*>(memory.scratch);
      launch_sums<T, 1>(layout_of(array), channel.x, channel.x, partials,
                        Moments<T>{channel.x, array.inner, 0}, stream);
      launch_finish(layout_of(array), static_cast<const A*>(partials),
                    FinishStatistics<T>{channel, A(array.rows)}, stream);
    }
    launch_columns<T, 1>(array, channel.y, channel.x, channel.x,
                         NormalizedColumn<T>{channel, by_running}, stream);
  });
}

void batch_norm_gradient_of_rows(const ChannelArray& array, const BatchNormMemory& memory,
                                 cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    using A = Compute<T>;
    const Gradients<T> gradients = gradients_of<T>(memory);
    auto* const partials = static_cast<A*>(memory.scratch);
    auto* const sums = reinterpret_cast<Pair<A>*>(partials + sum_partials(layout_of(array)));
    launch_sums<T, 2>(layout_of(array), gradients.dy, gradients.x, partials,
                      GradientSums<T>{gradients.statistics, 0}, stream);
    launch_finish(layout_of(array), static_cast<const A*>(partials),
                  FinishGradients<T>{gradients, sums}, stream);
    if (gradients.dx == nullptr) return;
    launch_columns<T, 2>(array, gradients.dx, gradients.dy, gradients.x,
                         SpreadColumn<T>{gradients, sums, A(array.rows)}, stream);
  });
}

}  // namespace strata::cuda::train
