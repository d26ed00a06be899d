// SPDX-License-Identifier: Apache-2.0
// The loss reads the logits once and leaves log Σ exp(x) of each row, with which its gradient reads
// them once, too. Rows lie in one piece, or (inner > 1) are columns of planes.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/norms/loss_mean.cuh"
#include "strata/measure/cuda/norms/softmax.cuh"
#include "strata/measure/cuda/norms/softmax_sums.cuh"

namespace strata::cuda::train {
namespace {

constexpr int most_threads = 512;

/// What threads of the block found, added up: that of block b is part b of the loss.
template <class A>
__device__ void leave_losses(A loss, A* losses, A (&parts)[warp_threads]) {
  loss = over_warps(over_lanes(loss, Sum{}, 1, warp_threads), Sum{}, A(0), parts);
  if (thread_of_block() == 0) losses[blockIdx.x] = loss;
}

__device__ std::int64_t target_of(const CrossEntropyMemory& memory, std::int64_t row) {
  return index_at(memory.targets, memory.targets_are_64_bit, row);
}

/// What the gradient of a row needs.
template <class A>
struct RowSlope {
  A log_sum, share;
  std::int64_t target;
  __device__ A operator()(A x, std::int64_t number) const {
    return (exp(x - log_sum) - (number == target ? A(1) : A(0))) * share;
  }
};

template <class T>
__device__ RowSlope<Compute<T>> slope_of(const CrossEntropyMemory& memory, std::int64_t row,
                                         Compute<T> share) {
  return {static_cast<const Compute<T>*>(memory.log_sums)[row], share, target_of(memory, row)};
}

// --- rows ----------------------------------------------------------------------------------------

template <class T, int width>
inline constexpr int pieces_ahead = most_pieces<T, width> / 2;

template <class T, int width>
__global__ void __launch_bounds__(most_threads, least_blocks<T>)
    row_losses(SoftmaxRun run, CrossEntropyMemory memory) {
  using A = Compute<T>;
  __shared__ A parts[2][warp_threads], loss_parts[warp_threads];
  const RowPlace place(run.outer, run.length / width);
  const T* const x = static_cast<const T*>(memory.logits) + place.row * run.length;
  const bool is_first = threadIdx.x == 0 && place.row < run.outer;
  A of_target = 0;
  if (is_first) of_target = value(x[target_of(memory, place.row)]);
  const ExpSum<A> sum = exp_sum_of_row<pieces_ahead<T, width>>(
      reinterpret_cast<const Items<T, width>*>(x), place.pieces, parts);
  A loss = 0;
  if (is_first) {
    const A log_sum = sum.most + log(sum.sum);
    loss = log_sum - of_target;
    if (memory.log_sums != nullptr) static_cast<A*>(memory.log_sums)[place.row] = log_sum;
  }
  leave_losses(loss, static_cast<A*>(memory.row_losses), loss_parts);
}

template <class T, int width>
__global__ void __launch_bounds__(most_threads, least_blocks<T>)
    cross_entropy_rows(SoftmaxRun run, CrossEntropyMemory memory, T* dx, const T* dloss) {
  using A = Compute<T>;
  constexpr int count = pieces_ahead<T, width>;
  const RowPlace place(run.outer, run.length / width);
  if (place.pieces == 0) return;
  const std::int64_t row = place.row * run.length;
  const auto slope = slope_of<T>(memory, place.row, A(value(*dloss)) / A(run.rows()));
  for (unsigned first = 0; first < place.pieces; first += count * blockDim.x) {
    const std::int64_t at = row + std::int64_t{first} * width;
    RowNumbers<T, width, count> numbers;
    numbers.read(static_cast<const T*>(memory.logits) + at, place.pieces - first, A(0));
#pragma unroll
    for (int k = 0; k < count; ++k) {
#pragma unroll
      for (int j = 0; j < width; ++j)
        numbers.item[k][j] =
            slope(numbers.item[k][j], std::int64_t{first + piece_at(k)} * width + j);
    }
    numbers.write(dx + at, place.pieces - first);
  }
}

/// Teams that walk along rows of any length.
template <class T, int width>
RowTeams walking_teams(const SoftmaxRun& run) {
  constexpr int ahead = pieces_ahead<T, width>;
  const RowTeams teams = teams_for(run.length / width, {ahead, ahead, most_threads});
  return teams.exist() ? teams : RowTeams{most_threads, 1, ahead};
}

// --- columns -------------------------------------------------------------------------------------

template <class T, int width>
__global__ void __launch_bounds__(most_threads, least_blocks<T>)
    column_losses(AxisTiles tiles, CrossEntropyMemory memory) {
  using A = Compute<T>;
  constexpr int count = axis_numbers<T, width>;
  __shared__ A loss_parts[warp_threads];
  const auto* const x = static_cast<const T*>(memory.logits);
  const AxisColumn<T, width> column(tiles);
  ColumnSums<T, width> sums;
  for (int first = 0; first < column.length; first += count * static_cast<int>(tiles.along)) {
    Items<T, width> v[count];
    column.read(v, x, first);
    sums.add(column, v, first);
  }
  sums.join(tiles, reinterpret_cast<A*>(beside_registers));
  A loss = 0;
  if (threadIdx.y == 0 && column.length > 0) {
#pragma unroll
    for (int j = 0; j < width; ++j) {
      const std::int64_t row = column.place * width + j;
      const auto target = static_cast<int>(target_of(memory, row));
      const A log_sum = sums.column[j].most + log(sums.column[j].sum);
      if (memory.log_sums != nullptr) static_cast<A*>(memory.log_sums)[row] = log_sum;
      loss += log_sum - A(value(column.of(x, target).item[j]));
    }
  }
  leave_losses(loss, static_cast<A*>(memory.row_losses), loss_parts);
}

template <class T, int width>
__global__ void __launch_bounds__(most_threads, least_blocks<T>)
    cross_entropy_columns(AxisTiles tiles, CrossEntropyMemory memory, std::int64_t rows, T* dx,
                          const T* dloss) {
  using A = Compute<T>;
  constexpr int count = axis_numbers<T, width>;
  const AxisColumn<T, width> column(tiles);
  if (column.length == 0) return;
  const A share = A(value(*dloss)) / A(rows);
  RowSlope<A> slopes[width];
#pragma unroll
  for (int j = 0; j < width; ++j) slopes[j] = slope_of<T>(memory, column.place * width + j, share);
  for (int first = 0; first < column.length; first += count * static_cast<int>(tiles.along)) {
    Items<T, width> v[count];
    column.read(v, static_cast<const T*>(memory.logits), first);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const int number = column.number(first, k);
      if (!column.has(number)) continue;
#pragma unroll
      for (int j = 0; j < width; ++j)
        v[k].item[j] = stored<T>(slopes[j](A(value(v[k].item[j])), number));
      column.of(dx, number) = v[k];
    }
  }
}

template <class T, int width>
AxisTiles tiles_of(const SoftmaxRun& run) {
  return {run.outer, run.length, run.inner / width, axis_numbers<T, width>};
}

// --- launches ------------------------------------------------------------------------------------

/// Calls `f` with how many numbers move at once.
template <class T, class F>
void with_width(const SoftmaxRun& run, bool is_whole, const F& f) {
  const std::int64_t in_one_piece = run.inner > 1 ? run.inner : run.length;
  with_piece_width<T>(is_whole && in_one_piece % Pack<T>::size == 0, f);
}

}  // namespace

void cross_entropy(const SoftmaxRun& run, const CrossEntropyMemory& memory, void* loss,
                   cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    using A = Compute<T>;
    unsigned blocks = 0;
    with_width<T>(run, is_aligned(memory.logits), [&](auto width) {
      constexpr int w = width.value;
      if (run.inner == 1) {
        const RowTeams teams = walking_teams<T, w>(run);
        blocks = teams.blocks(run.outer);
        row_losses<T, w><<<blocks, teams.block(), 0, stream>>>(run, memory);
      } else {
        const AxisTiles tiles = tiles_of<T, w>(run);
        blocks = tiles.blocks();
        const auto bytes = static_cast<unsigned>(2 * tiles.shared(w) * sizeof(A));
        column_losses<T, w><<<blocks, tiles.block(), bytes, stream>>>(tiles, memory);
      }
    });
    launch_mean(static_cast<T*>(loss), static_cast<const A*>(memory.row_losses), blocks, run.rows(),
                stream);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void cross_entropy_gradient(const SoftmaxRun& run, const CrossEntropyMemory& memory, void* dx,
                            const void* dloss, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    auto* const to = static_cast<T*>(dx);
    const auto* const of_loss = static_cast<const T*>(dloss);
    with_width<T>(run, is_aligned(memory.logits) && is_aligned(dx), [&](auto width) {
      constexpr int w = width.value;
      if (run.inner == 1) {
        const RowTeams teams = walking_teams<T, w>(run);
        cross_entropy_rows<T, w>
            <<<teams.blocks(run.outer), teams.block(), 0, stream>>>(run, memory, to, of_loss);
      } else {
        const AxisTiles tiles = tiles_of<T, w>(run);
        cross_entropy_columns<T, w>
            <<<tiles.blocks(), tiles.block(), 0, stream>>>(tiles, memory, run.rows(), to, of_loss);
      }
    });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
