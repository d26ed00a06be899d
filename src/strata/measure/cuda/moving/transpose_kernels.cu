// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/moving/transpose.cuh"

#include <algorithm>
#include <optional>

namespace strata::cuda::train {
namespace {

/// A block's threads by groups of rows and of columns: 2⁸ of them.
constexpr int group_bits = 8;
static_assert(threads_per_block == 1 << group_bits);

/// A row is what lies together in the source, a column what lies together in the target. A thread
/// takes `pack` × `pack` numbers, and a pack of them, at most 16 bytes, moves at once on a side
/// that allows it.
///
/// Tiles are square, or longer along one axis where the other one is short.
template <class Item, int column_bits>
struct Tile {
  // Unsigned, as places are computed by dividing by powers of two.
  static constexpr unsigned pack = sizeof(Item) < 8 ? 4 : 2;
  static constexpr unsigned each = pack * pack, items = threads_per_block * each;
  using Line = Items<Item, pack>;

  static constexpr unsigned row_groups = 1u << (group_bits - column_bits);
  static constexpr unsigned column_groups = 1u << column_bits;
  static constexpr unsigned rows = pack * row_groups, columns = pack * column_groups;

  /// In shared memory a pack is of one column. The exclusive or spreads packs that are moved
  /// together over the banks, as `turn` does with the numbers of a pack.
  __device__ static unsigned pack_place(unsigned column, unsigned row_group) {
    return (column * row_groups + row_group) ^ (column / pack % (4 * pack));
  }
  __device__ static constexpr unsigned turn(unsigned column, unsigned row) {
    return (row + column) % pack;
  }
  __device__ static unsigned place(unsigned column, unsigned row) {
    return pack_place(column, row / pack) * pack + turn(column, row);
  }
};

/// to[column][row] = from[row][column], in matrices whose places `batch` knows.
struct Turn {
  unsigned rows, columns;
  int row_stride;     ///< of the source
  int column_stride;  ///< of the target
  IndexMap<2> batch;
};

/// A part of a matrix: where its first number is and how many there are from there on.
template <class Item>
struct Corner {
  Item* to;
  const Item* from;
  unsigned rows, columns;
};

// Counted in packs, an address is aligned for the compiler, too, which would else fall back to
// single numbers.
template <class T, class Item>
__device__ void read_packs(const Turn& turn, const Corner<Item>& corner, Item* shared) {
  using Line = typename T::Line;
  constexpr unsigned pack = T::pack;
  const unsigned row_group = threadIdx.x / T::column_groups;
  const unsigned column_group = threadIdx.x % T::column_groups;
  const unsigned row = row_group * pack, column = column_group * pack;
  const int packs = turn.row_stride / static_cast<int>(pack);
  Line lines[pack] = {};
#pragma unroll
  for (unsigned i = 0; i < pack; ++i) {
    if (row + i < corner.rows && column < corner.columns)
      lines[i] = reinterpret_cast<const Line*>(
          corner.from)[static_cast<int>(row + i) * packs + static_cast<int>(column_group)];
  }
#pragma unroll
  for (unsigned i = 0; i < pack; ++i) {
    Line turned;
#pragma unroll
    for (unsigned j = 0; j < pack; ++j) turned.item[T::turn(i, j)] = lines[j].item[i];
    reinterpret_cast<Line*>(shared)[T::pack_place(column + i, row_group)] = turned;
  }
}

template <class T, class Item>
__device__ void write_packs(const Turn& turn, const Corner<Item>& corner, const Item* shared) {
  using Line = typename T::Line;
  constexpr unsigned pack = T::pack;
  const unsigned row_group = threadIdx.x % T::row_groups;
  const unsigned row = row_group * pack, column = threadIdx.x / T::row_groups * pack;
  const int packs = turn.column_stride / static_cast<int>(pack);
#pragma unroll
  for (unsigned i = 0; i < pack; ++i) {
    const Line turned = reinterpret_cast<const Line*>(shared)[T::pack_place(column + i, row_group)];
    Line line;
#pragma unroll
    for (unsigned j = 0; j < pack; ++j) line.item[j] = turned.item[T::turn(i, j)];
    if (column + i < corner.columns && row < corner.rows)
      reinterpret_cast<Line*>(
          corner.to)[static_cast<int>(column + i) * packs + static_cast<int>(row_group)] = line;
  }
}

template <class T, class Item>
__device__ void read_numbers(const Turn& turn, const Corner<Item>& corner, Item* shared) {
  constexpr unsigned step = threads_per_block / T::columns;
  const unsigned column = threadIdx.x % T::columns, first_row = threadIdx.x / T::columns;
  Item numbers[T::each] = {};
#pragma unroll
  for (unsigned i = 0; i < T::each; ++i) {
    const unsigned row = first_row + i * step;
    if (row < corner.rows && column < corner.columns)
      numbers[i] = (corner.from + static_cast<int>(row) * turn.row_stride)[column];
  }
#pragma unroll
  for (unsigned i = 0; i < T::each; ++i)
    shared[T::place(column, first_row + i * step)] = numbers[i];
}

template <class T, class Item>
__device__ void write_numbers(const Turn& turn, const Corner<Item>& corner, const Item* shared) {
  constexpr unsigned step = threads_per_block / T::rows;
  const unsigned row = threadIdx.x % T::rows, first_column = threadIdx.x / T::rows;
  Item numbers[T::each];
#pragma unroll
  for (unsigned i = 0; i < T::each; ++i)
    numbers[i] = shared[T::place(first_column + i * step, row)];
#pragma unroll
  for (unsigned i = 0; i < T::each; ++i) {
    const unsigned column = first_column + i * step;
    if (column < corner.columns && row < corner.rows)
      (corner.to + static_cast<int>(column) * turn.column_stride)[row] = numbers[i];
  }
}

/// A block for each tile: those along the target's lines come one after the other, then those along
/// the source's, then matrices.
template <class T, class Item, bool reads_packs, bool writes_packs>
__global__ void __launch_bounds__(threads_per_block)
    turn_tiles(Turn turn, FastDivisor row_tiles, FastDivisor column_tiles, Item* to,
               const Item* from) {
  alignas(16) __shared__ Item shared[T::items];
  const std::uint32_t strip = row_tiles.quotient(blockIdx.x);
  const std::uint32_t matrix = column_tiles.quotient(strip);
  const unsigned first_row = (blockIdx.x - strip * row_tiles.divisor) * T::rows;
  const unsigned first_column = (strip - matrix * column_tiles.divisor) * T::columns;
  std::int64_t places[2] = {
      std::int64_t{first_column} * turn.column_stride + first_row,
      std::int64_t{first_row} * turn.row_stride + first_column,
  };
  turn.batch.add_places(matrix, places, 2);
  const Corner<Item> corner{to + places[0], from + places[1], turn.rows - first_row,
                            turn.columns - first_column};
  if constexpr (reads_packs) {
    read_packs<T>(turn, corner, shared);
  } else {
    read_numbers<T>(turn, corner, shared);
  }
  __syncthreads();
  if constexpr (writes_packs) {
    write_packs<T>(turn, corner, shared);
  } else {
    write_numbers<T>(turn, corner, shared);
  }
}

/// Which share of the tiles' places would be numbers.
double filled(std::int64_t rows, std::int64_t columns, std::int64_t pack, int column_bits) {
  const auto share = [](std::int64_t extent, std::int64_t tile) {
    const std::int64_t tiles = (extent + tile - 1) / tile;
    return static_cast<double>(extent) / static_cast<double>(tiles * tile);
  };
  return share(rows, pack << (group_bits - column_bits)) * share(columns, pack << column_bits);
}

/// The shape that is filled best; none where all are mostly empty.
std::optional<int> column_bits_for(std::int64_t rows, std::int64_t columns, std::int64_t pack) {
  constexpr std::int64_t fewest = 9;  // shorter axes are for a thread to go along
  constexpr double least_filled = 0.15;
  if (std::min(rows, columns) < fewest) return {};
  int best = group_bits / 2;
  for (const int bits : {2, 6}) {
    if (filled(rows, columns, pack, bits) > filled(rows, columns, pack, best)) best = bits;
  }
  if (filled(rows, columns, pack, best) < least_filled) return {};
  return best;
}

struct TurnedAxes {
  StridedAxes axes;
  std::size_t source, target;  ///< the axes that they run along
};

template <class T, class Item>
void launch_turn(Item* to, const Item* from, const TurnedAxes& turned, cudaStream_t stream) {
  const auto& [axes, source, target] = turned;
  const std::int64_t rows = axes.extents[target], columns = axes.extents[source];
  StridedAxes batch = axes;
  batch.extents[source] = batch.extents[target] = 1;
  batch = batch.merged();
  const Turn turn{static_cast<unsigned>(rows), static_cast<unsigned>(columns),
                  static_cast<int>(axes.strides[1][target]),
                  static_cast<int>(axes.strides[0][source]), IndexMap<2>(batch)};
  const unsigned row_tiles = blocks_for(rows, T::rows);
  const unsigned column_tiles = blocks_for(columns, T::columns);
  const unsigned blocks = row_tiles * column_tiles * static_cast<unsigned>(batch.elements());
  const auto launch = [&](auto kernel) {
    kernel<<<blocks, threads_per_block, 0, stream>>>(turn, FastDivisor(row_tiles),
                                                     FastDivisor(column_tiles), to, from);
  };
  const bool writes = has_packs(axes, 0, target, T::pack, to, sizeof(Item));
  if (has_packs(axes, 1, source, T::pack, from, sizeof(Item))) {
    writes ? launch(turn_tiles<T, Item, true, true>) : launch(turn_tiles<T, Item, true, false>);
  } else {
    writes ? launch(turn_tiles<T, Item, false, true>) : launch(turn_tiles<T, Item, false, false>);
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

template <class Item>
bool turn_items(void* to, const void* from, const TurnedAxes& turned, cudaStream_t stream) {
  const auto shape = column_bits_for(turned.axes.extents[turned.target],
                                     turned.axes.extents[turned.source], Tile<Item, 4>::pack);
  if (!shape) return false;
  auto* const target = static_cast<Item*>(to);
  const auto* const source = static_cast<const Item*>(from);
  switch (*shape) {
    case 2: launch_turn<Tile<Item, 2>>(target, source, turned, stream); break;
    case 6: launch_turn<Tile<Item, 6>>(target, source, turned, stream); break;
    default: launch_turn<Tile<Item, 4>>(target, source, turned, stream); break;
  }
  return true;
}

}  // namespace

bool has_packs(const StridedAxes& axes, std::size_t side, std::size_t along, std::int64_t pack,
               const void* data, std::int64_t element_bytes) {
  const auto bytes = static_cast<std::uintptr_t>(pack * element_bytes);
  if (axes.extents[along] % pack != 0 || axes.strides[side][along] != 1 ||
      reinterpret_cast<std::uintptr_t>(data) % bytes != 0)
    return false;
  for (std::size_t axis = 0; axis < axes.extents.size(); ++axis) {
    if (axis != along && axes.strides[side][axis] % pack != 0) return false;
  }
  return true;
}

bool copy_by_tiles(void* to, const void* from, std::int64_t element_bytes, const StridedAxes& axes,
                   cudaStream_t stream) {
  if (axes.extents.size() < 2) return false;
  const auto along = std::find(axes.strides[1].begin(), axes.strides[1].end(), 1);
  const TurnedAxes turned{axes, static_cast<std::size_t>(along - axes.strides[1].begin()),
                          axes.extents.size() - 1};
  if (along == axes.strides[1].end() || turned.source == turned.target ||
      axes.strides[0].back() != 1)
    return false;
  switch (element_bytes) {
    case 1: return turn_items<std::uint8_t>(to, from, turned, stream);
    case 2: return turn_items<std::uint16_t>(to, from, turned, stream);
    case 4: return turn_items<std::uint32_t>(to, from, turned, stream);
    case 8: return turn_items<std::uint64_t>(to, from, turned, stream);
    default: return false;
  }
}

}  // namespace strata::cuda::train
