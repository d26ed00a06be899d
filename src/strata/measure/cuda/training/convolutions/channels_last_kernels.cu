// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/api.cuh"
#include "strata/measure/cuda/training/convolutions/channels_last.cuh"

namespace strata::cuda::train {
namespace {

constexpr int turned_tile = 64, turned_rows = 8;

/// Block (tile of columns, tile of rows, image); a warp moves two numbers per thread where the
/// lengths are even, which is 128 bytes.
template <int width>
__global__ void __launch_bounds__(32 * turned_rows)
    turn_tiles(PlaneTurn turn, std::uint16_t* to, const std::uint16_t* from) {
  struct alignas(2 * width) Pack {
    std::uint16_t item[width];
  };
  constexpr int steps = turned_tile / 32 / width;
  // An odd number of 4-byte banks from row to row.
  __shared__ std::uint16_t tile[turned_tile][turned_tile + 2];
  const std::int64_t image = blockIdx.z * turn.rows * turn.columns;
  const std::int64_t first_row = std::int64_t{blockIdx.y} * turned_tile;
  const std::int64_t first_column = std::int64_t{blockIdx.x} * turned_tile;
  for (int row = threadIdx.y; row < turned_tile; row += turned_rows) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int column = (step * 32 + threadIdx.x) * width;
      if (first_row + row >= turn.rows || first_column + column >= turn.columns) continue;
      const Pack pack = *reinterpret_cast<const Pack*>(
          from + image + (first_row + row) * turn.columns + first_column + column);
#pragma unroll
      for (int i = 0; i < width; ++i) tile[row][column + i] = pack.item[i];
    }
  }
  __syncthreads();
  for (int column = threadIdx.y; column < turned_tile; column += turned_rows) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int row = (step * 32 + threadIdx.x) * width;
      if (first_column + column >= turn.columns || first_row + row >= turn.rows) continue;
      Pack pack;
#pragma unroll
      for (int i = 0; i < width; ++i) pack.item[i] = tile[row + i][column];
      *reinterpret_cast<Pack*>(to + image + (first_column + column) * turn.rows + first_row + row) =
          pack;
    }
  }
}

/// Rows of few numbers, which a tile would hold hardly any of: each thread moves one.
__global__ void turn_numbers(PlaneTurn turn, std::uint16_t* to, const std::uint16_t* from) {
  const std::int64_t plane = turn.rows * turn.columns;
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= turn.images * plane) return;
  const std::int64_t image = at / plane, place = at % plane;
  const std::int64_t column = place / turn.rows, row = place % turn.rows;
  to[at] = from[image * plane + row * turn.columns + column];
}

}  // namespace

void turn_planes(const PlaneTurn& turn, void* to, const void* from, cudaStream_t stream) {
  constexpr std::int64_t fewest = 16, most_images = 65535;
  auto* const target = static_cast<std::uint16_t*>(to);
  const auto* const source = static_cast<const std::uint16_t*>(from);
  const auto tiles = [](std::int64_t length) {
    return static_cast<unsigned>((length + turned_tile - 1) / turned_tile);
  };
  if (turn.rows < fewest || turn.columns < fewest || turn.images > most_images ||
      tiles(turn.rows) > most_images) {
    constexpr int threads = 256;
    const std::int64_t all = turn.images * turn.rows * turn.columns;
    turn_numbers<<<static_cast<unsigned>((all + threads - 1) / threads), threads, 0, stream>>>(
        turn, target, source);
  } else {
    const dim3 grid(tiles(turn.columns), tiles(turn.rows), static_cast<unsigned>(turn.images));
    const dim3 block(32, turned_rows);
    if (turn.rows % 2 == 0 && turn.columns % 2 == 0) {
      turn_tiles<2><<<grid, block, 0, stream>>>(turn, target, source);
    } else {
      turn_tiles<1><<<grid, block, 0, stream>>>(turn, target, source);
    }
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
