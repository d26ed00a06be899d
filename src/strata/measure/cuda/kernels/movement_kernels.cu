// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/movement.cuh"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>

namespace strata::cuda::train {
namespace {

template <class Item>
__global__ void __launch_bounds__(threads_per_block)
    copy_items(Item* to, const Item* from, IndexMap<2> map, std::uint32_t count) {
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= count) return;
  std::int64_t places[2] = {0, 0};
  map.add_places(n, places, 2);
  to[places[0]] = from[places[1]];
}

constexpr int tile = 32, tile_rows = 8;

/// to[column][row] = from[row][column], in matrices whose places `batch` knows.
struct Transposition {
  std::uint32_t rows = 1, columns = 1;
  std::int64_t row_stride = 1;     ///< of the source
  std::int64_t column_stride = 1;  ///< of the target
  FastDivisor row_tiles, column_tiles;
  IndexMap<2> batch;
};

/// A block takes a tile of 32 × 32: read along the source's rows, written along the target's, with
/// shared memory in between whose rows are one number longer than the banks are many.
template <class Item>
__global__ void __launch_bounds__(tile* tile_rows)
    transpose_tiles(Item* to, const Item* from, Transposition t) {
  __shared__ Item shared[tile][tile + 1];
  const std::uint32_t strip = t.row_tiles.quotient(blockIdx.x);
  const std::uint32_t matrix = t.column_tiles.quotient(strip);
  const std::uint32_t first_row = (blockIdx.x - strip * t.row_tiles.divisor) * tile;
  const std::uint32_t first_column = (strip - matrix * t.column_tiles.divisor) * tile;
  std::int64_t places[2] = {0, 0};
  t.batch.add_places(matrix, places, 2);
  const std::uint32_t column = first_column + threadIdx.x;
#pragma unroll
  for (int i = 0; i < tile; i += tile_rows) {
    const std::uint32_t row = first_row + threadIdx.y + i;
    if (row < t.rows && column < t.columns)
      shared[threadIdx.y + i][threadIdx.x] = from[places[1] + row * t.row_stride + column];
  }
  __syncthreads();
  const std::uint32_t row = first_row + threadIdx.x;
#pragma unroll
  for (int i = 0; i < tile; i += tile_rows) {
    const std::uint32_t other = first_column + threadIdx.y + i;
    if (row < t.rows && other < t.columns)
      to[places[0] + other * t.column_stride + row] = shared[threadIdx.x][threadIdx.y + i];
  }
}

// --- how the work is shared ----------------------------------------------------------------------

/// The axis with the shortest steps through the target comes last.
StridedAxes in_target_order(const StridedAxes& axes) {
  std::vector<std::size_t> order(axes.extents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(axes.strides[0][a]) > std::abs(axes.strides[0][b]);
  });
  StridedAxes ordered;
  ordered.strides.resize(2);
  for (const std::size_t axis : order) {
    ordered.extents.push_back(axes.extents[axis]);
    for (std::size_t side = 0; side < 2; ++side)
      ordered.strides[side].push_back(axes.strides[side][axis]);
  }
  return ordered;
}

/// Neighbours on both sides move as one item of up to 16 bytes; says of how many.
std::int64_t widen(StridedAxes& axes, std::int64_t element_bytes, const void* to,
                   const void* from) {
  const std::size_t last = axes.extents.size() - 1;
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  for (std::int64_t bytes = 16; bytes > element_bytes; bytes /= 2) {
    const std::int64_t pack = bytes / element_bytes;
    bool is_whole =
        addresses % static_cast<std::uintptr_t>(bytes) == 0 && axes.extents[last] % pack == 0;
    for (const auto& strides : axes.strides) {
      is_whole = is_whole && strides[last] == 1 &&
                 std::all_of(strides.begin(), strides.end() - 1,
                             [&](std::int64_t stride) { return stride % pack == 0; });
    }
    if (!is_whole) continue;
    axes.extents[last] /= pack;
    for (auto& strides : axes.strides) {
      for (std::size_t axis = 0; axis < last; ++axis) strides[axis] /= pack;
    }
    return bytes;
  }
  return element_bytes;
}

/// The axis that the source runs along, where that is not the target's and both are long enough for
/// tiles.
std::optional<std::size_t> transposed_axis(const StridedAxes& axes) {
  constexpr std::int64_t least = 8;
  if (axes.strides[0].back() != 1 || axes.strides[1].back() == 1 || axes.extents.back() < least)
    return std::nullopt;
  for (std::size_t axis = 0; axis + 1 < axes.extents.size(); ++axis) {
    if (axes.strides[1][axis] == 1 && axes.extents[axis] >= least) return axis;
  }
  return std::nullopt;
}

// --- launches ------------------------------------------------------------------------------------

template <class F>
void with_item(std::int64_t bytes, const F& f) {
  switch (bytes) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    default: return f(uint4{});
  }
}

void transpose(void* to, const void* from, std::int64_t element_bytes, const StridedAxes& axes,
               std::size_t source, cudaStream_t stream) {
  const std::size_t target = axes.extents.size() - 1;
  StridedAxes batch = axes;
  batch.extents[source] = batch.extents[target] = 1;
  batch = batch.merged();
  Transposition t;
  t.rows = static_cast<std::uint32_t>(axes.extents[target]);
  t.columns = static_cast<std::uint32_t>(axes.extents[source]);
  t.row_stride = axes.strides[1][target];
  t.column_stride = axes.strides[0][source];
  t.row_tiles = FastDivisor(blocks_for(t.rows, tile));
  t.column_tiles = FastDivisor(blocks_for(t.columns, tile));
  t.batch = IndexMap<2>(batch);
  const unsigned blocks =
      t.row_tiles.divisor * t.column_tiles.divisor * static_cast<unsigned>(batch.elements());
  with_item(element_bytes, [&](auto item) {
    using Item = decltype(item);
    transpose_tiles<<<blocks, dim3(tile, tile_rows), 0, stream>>>(
        static_cast<Item*>(to), static_cast<const Item*>(from), t);
  });
}

}  // namespace

void copy_strided(void* to, const void* from, std::int64_t element_bytes, const StridedAxes& axes,
                  cudaStream_t stream) {
  StridedAxes merged = in_target_order(axes).merged();
  const bool is_one_run =
      merged.extents.empty() ||
      (merged.extents.size() == 1 && merged.strides[0][0] == 1 && merged.strides[1][0] == 1);
  if (is_one_run) {
    STRATA_CUDA_CALL(cudaMemcpyAsync(to, from,
                                     static_cast<std::size_t>(merged.elements() * element_bytes),
                                     cudaMemcpyDeviceToDevice, stream));
    return;
  }
  if (const std::optional<std::size_t> source = transposed_axis(merged)) {
    transpose(to, from, element_bytes, merged, *source, stream);
  } else {
    const std::int64_t bytes = widen(merged, element_bytes, to, from);
    merged = merged.merged();
    const auto count = static_cast<std::uint32_t>(merged.elements());
    with_item(bytes, [&](auto item) {
      using Item = decltype(item);
      copy_items<<<blocks_for(count), threads_per_block, 0, stream>>>(
          static_cast<Item*>(to), static_cast<const Item*>(from), IndexMap<2>(merged), count);
    });
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
