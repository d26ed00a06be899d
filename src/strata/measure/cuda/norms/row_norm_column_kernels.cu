// SPDX-License-Identifier: Apache-2.0
// A thread has the same columns of every row of its block, and keeps their sums to the end.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/norms/row_norm_gradient.cuh"

namespace strata::cuda::train {
namespace {

constexpr int most_threads = 512;

/// Of x and dy; two sums for each number take as many registers again.
template <class T, int width>
inline constexpr int column_pieces = most_pieces<T, width> / 2;

/// Adds the sums of a block's teams, which are no larger than a warp: all of them get the results.
template <class A, int numbers>
__device__ void join_teams(SumPair<A> (&sums)[numbers]) {
  __shared__ SumPair<A> joined[numbers][warp_threads];
  const unsigned warp = thread_of_block() / warp_threads, lane = thread_of_block() % warp_threads;
#pragma unroll
  for (int i = 0; i < numbers; ++i) sums[i] = over_lanes(sums[i], Sum{}, blockDim.x, warp_threads);
  for (unsigned turn = 0; turn < blockDim.x * blockDim.y / warp_threads; ++turn) {
    if (warp == turn) {
#pragma unroll
      for (int i = 0; i < numbers; ++i)
        joined[i][lane] = turn == 0 ? sums[i] : joined[i][lane] + sums[i];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < numbers; ++i) sums[i] = joined[i][lane];
}

/// Rows of a block lie a grid apart.
template <class T, int width, int count>
__global__ void __launch_bounds__(most_threads, 1)
    walk_rows(RowNorm norm, GradientArrays<T> arrays) {
  using A = Compute<T>;
  using P = Items<T, width>;
  __shared__ SumPair<A> parts[2][warp_threads];
  const auto pieces = static_cast<unsigned>(norm.length / width);
  SumPair<A> sums[count * width] = {};
  unsigned turn = 0;
  for (std::int64_t first = std::int64_t{blockIdx.x} * blockDim.y; first < norm.rows;
       first += std::int64_t{gridDim.x} * blockDim.y) {
    const std::int64_t row = first + threadIdx.y;
    const unsigned mine = row < norm.rows ? pieces : 0;
    RowPieces<T, width, count, false> x_pieces, d_pieces;
    x_pieces.read(arrays.x + row * norm.length, mine);
    d_pieces.read(arrays.dy + row * norm.length, mine);
    NormSlope<A> slope(arrays.statistics, row, mine > 0);
    RowNumbers<T, width, count> x, d;
    x.take(x_pieces, mine, A(0));
    d.take(d_pieces, mine, A(0));
    SumPair<A> of_row{0, 0};
#pragma unroll
    for (int k = 0; k < count; ++k) {
      P scale;
      const bool is_scaled = arrays.scale != nullptr && piece_at(k) < mine;
      if (is_scaled) scale = reinterpret_cast<const P*>(arrays.scale)[piece_at(k)];
#pragma unroll
      for (int j = 0; j < width; ++j) {
        A& xk = x.item[k][j];
        A& dk = d.item[k][j];
        SumPair<A>& sum = sums[k * width + j];
        xk = slope.normalized(xk);
        sum = sum + SumPair<A>{dk * xk, dk};
        if (is_scaled) dk *= A(value(scale.item[j]));
        of_row = of_row + SumPair<A>{dk * xk, dk};
      }
    }
    // By turns, for some warps may still read the places of the row before.
    of_row = over_team(of_row, Sum{}, SumPair<A>{0, 0}, parts[turn]);
    turn = 1 - turn;
    if (arrays.dx == nullptr) continue;
    slope.take(norm, of_row);
#pragma unroll
    for (int k = 0; k < count; ++k) {
#pragma unroll
      for (int j = 0; j < width; ++j) x.item[k][j] = slope(d.item[k][j], x.item[k][j]);
    }
    x.write(arrays.dx + row * norm.length, mine);
  }
  if (arrays.partials == nullptr) return;
  if (blockDim.y > 1) join_teams(sums);
  if (threadIdx.y > 0) return;
  SumPair<A>* const to = arrays.partials + blockIdx.x * norm.length;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    if (piece_at(k) >= pieces) continue;
#pragma unroll
    for (int j = 0; j < width; ++j) to[piece_at(k) * width + j] = sums[k * width + j];
  }
}

int processors() {
  int device = 0, count = 0;
  STRATA_CUDA_CALL(cudaGetDevice(&device));
  STRATA_CUDA_CALL(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

/// As many blocks as run at the same time.
struct ColumnPlan {
  RowTeams teams;
  unsigned blocks = 0;
};

template <class T, int width>
ColumnPlan plan_of(const RowNorm& norm) {
  if (norm.inner > 1 || norm.groups > 1 || norm.length % width != 0) return {};
  constexpr int most = column_pieces<T, width>;
  const RowTeams teams = teams_for(norm.length / width, {most, most, most_threads});
  if (!teams.exist()) return {};
  const auto at_once =
      static_cast<unsigned>(processors() * std::max(1, most_threads / teams.threads()));
  return {teams, std::min(at_once, teams.blocks(norm.rows))};
}

}  // namespace

std::int64_t gradient_by_columns(const RowNorm& norm, const RowNormMemory& memory,
                                 cudaStream_t stream) {
  std::int64_t parts = 0;
  with_element_type(norm.dtype, [&](auto element) {
    using T = decltype(element);
    const bool is_whole =
        norm.length % Pack<T>::size == 0 && is_gradient_aligned(memory) && is_aligned(memory.scale);
    with_piece_width<T>(is_whole, [&](auto width) {
      const ColumnPlan plan = plan_of<T, width.value>(norm);
      parts = plan.blocks;
      if (parts == 0) return;
      with_pieces<column_pieces<T, width.value>>(plan.teams.pieces, [&](auto count) {
        walk_rows<T, width.value, count.value>
            <<<plan.blocks, plan.teams.block(), 0, stream>>>(norm, GradientArrays<T>(memory));
      });
    });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
  return parts;
}

std::int64_t most_column_parts(const RowNorm& norm) {
  std::int64_t parts = 0;
  with_element_type(norm.dtype, [&](auto element) {
    using T = decltype(element);
    parts = std::max(plan_of<T, 1>(norm).blocks, plan_of<T, Pack<T>::size>(norm).blocks);
  });
  return parts;
}

}  // namespace strata::cuda::train
