// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/moving/movement.cuh"
#include "strata/measure/cuda/moving/transpose.cuh"

#include <algorithm>
#include <numeric>
#include <optional>
#include <type_traits>

namespace strata::cuda::train {
namespace {

/// A thread moves as many runs, from as many parts of one axis, and asks for all of them before it
/// has any: index arithmetic is done once for them, and memory is kept busy.
constexpr int parts = 4;

/// Where a thread's runs are. Places fit 32 bits, as tensors have less than 2³¹ numbers.
struct Moves {
  int axes = 0;  ///< the innermost first
  FastDivisor extents[most_map_axes];
  std::int32_t to[most_map_axes] = {}, from[most_map_axes] = {};
  int parted = 0;                           ///< the axis whose extent here is that of one part
  std::uint32_t parted_extent = 1;          ///< of all parts
  std::int32_t to_part = 0, from_part = 0;  ///< from one part to the next
  std::int32_t step = 0;  ///< from number to number of a run, where it is not a pack
  std::uint32_t count = 1;

  struct Place {
    std::int32_t to, from;
    std::uint32_t at;  ///< along the parted axis
  };
  __device__ Place place(std::uint32_t n) const {
    Place place{0, 0, 0};
#pragma unroll
    for (int axis = 0; axis < most_map_axes; ++axis) {
      if (axis >= axes) break;
      const std::uint32_t rest = axis + 1 < axes ? extents[axis].quotient(n) : 0;
      const std::uint32_t at = n - rest * extents[axis].divisor;
      place.to += static_cast<std::int32_t>(at) * to[axis];
      place.from += static_cast<std::int32_t>(at) * from[axis];
      if (axis == parted) place.at = at;
      n = rest;
    }
    return place;
  }
  __device__ bool has(const Place& place, int part) const {
    return place.at + part * extents[parted].divisor < parted_extent;
  }
};

/// Which side has the numbers of a run as one pack.
enum class Packed : std::uint8_t { both, target, source };

template <class Item, int size, Packed packed>
__global__ void __launch_bounds__(threads_per_block)
    move_runs(Item* to, const Item* from, Moves moves) {
  using R = Items<Item, size>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= moves.count) return;
  const Moves::Place place = moves.place(n);
  R runs[parts];
#pragma unroll
  for (int part = 0; part < parts; ++part) {
    // Without a branch: a part that is too short has the first one's once more, and drops it.
    const Item* const source =
        from + (place.from + (moves.has(place, part) ? part * moves.from_part : 0));
    if constexpr (packed == Packed::target) {
#pragma unroll
      for (int i = 0; i < size; ++i) runs[part].item[i] = source[i * moves.step];
    } else {
      runs[part] = *reinterpret_cast<const R*>(source);
    }
  }
#pragma unroll
  for (int part = 0; part < parts; ++part) {
    if (!moves.has(place, part)) break;
    Item* const target = to + (place.to + part * moves.to_part);
    if constexpr (packed == Packed::source) {
#pragma unroll
      for (int i = 0; i < size; ++i) target[i * moves.step] = runs[part].item[i];
    } else {
      *reinterpret_cast<R*>(target) = runs[part];
    }
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
  std::int64_t bytes = 16;
  for (; bytes > element_bytes; bytes /= 2) {
    const std::int64_t pack = bytes / element_bytes;
    if (!has_packs(axes, 0, last, pack, to, element_bytes) ||
        !has_packs(axes, 1, last, pack, from, element_bytes))
      continue;
    axes.extents[last] /= pack;
    for (auto& strides : axes.strides) {
      for (std::size_t axis = 0; axis < last; ++axis) strides[axis] /= pack;
    }
    break;
  }
  return bytes;
}

/// An axis that a thread goes along, because neighbours along it lie together on one side only.
struct RunAxis {
  std::size_t axis;
  Packed packed;
  int size;
};

constexpr std::int64_t most_of_short = 8;

/// The axis that the source runs along, if that is a short one and not the last. Where numbers are
/// repeated along the last one, that is the better to go along.
std::optional<std::size_t> short_source_axis(const StridedAxes& axes) {
  if (axes.strides[1].back() == 0) return {};
  for (std::size_t axis = 0; axis + 1 < axes.extents.size(); ++axis) {
    if (axes.strides[1][axis] == 1 && axes.extents[axis] <= most_of_short) return axis;
  }
  return {};
}

std::optional<RunAxis> run_axis(const StridedAxes& axes, std::int64_t element_bytes, const void* to,
                                const void* from) {
  const std::size_t last = axes.extents.size() - 1;
  const std::optional<std::size_t> source = short_source_axis(axes);
  const bool is_short = axes.extents[last] <= most_of_short && axes.strides[1][last] != 1;
  for (int size = 8; size > 1; size /= 2) {
    if (size * element_bytes > 16) continue;
    if (source && has_packs(axes, 1, *source, size, from, element_bytes))
      return RunAxis{*source, Packed::source, size};
    if ((is_short || axes.strides[1][last] == 0) &&
        has_packs(axes, 0, last, size, to, element_bytes))
      return RunAxis{last, Packed::target, size};
  }
  return {};
}

/// The outermost axis whose parts are almost of one length; else the longest.
std::size_t parted_axis(const StridedAxes& axes) {
  for (std::size_t axis = 0; axis < axes.extents.size(); ++axis) {
    const std::int64_t extent = axes.extents[axis];
    if ((extent + parts - 1) / parts * parts * 8 <= extent * 9) return axis;
  }
  return static_cast<std::size_t>(std::max_element(axes.extents.begin(), axes.extents.end()) -
                                  axes.extents.begin());
}

Moves moves_of(StridedAxes axes, std::size_t parted) {
  Moves moves;
  const std::size_t count = axes.extents.size();
  const std::int64_t extent = axes.extents[parted], part = (extent + parts - 1) / parts;
  axes.extents[parted] = part;
  moves.axes = static_cast<int>(count);
  for (std::size_t axis = 0; axis < count; ++axis) {
    const std::size_t at = count - 1 - axis;
    moves.extents[at] = FastDivisor(static_cast<std::uint32_t>(axes.extents[axis]));
    moves.to[at] = static_cast<std::int32_t>(axes.strides[0][axis]);
    moves.from[at] = static_cast<std::int32_t>(axes.strides[1][axis]);
  }
  moves.parted = static_cast<int>(count - 1 - parted);
  moves.parted_extent = static_cast<std::uint32_t>(extent);
  moves.to_part = static_cast<std::int32_t>(part * axes.strides[0][parted]);
  moves.from_part = static_cast<std::int32_t>(part * axes.strides[1][parted]);
  moves.count = static_cast<std::uint32_t>(axes.elements());
  return moves;
}

// --- launches ------------------------------------------------------------------------------------

template <class Item, int size, Packed packed>
void launch_moves(void* to, const void* from, const Moves& moves, cudaStream_t stream) {
  move_runs<Item, size, packed><<<blocks_for(moves.count), threads_per_block, 0, stream>>>(
      static_cast<Item*>(to), static_cast<const Item*>(from), moves);
  STRATA_CUDA_CALL(cudaGetLastError());
}

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

void copy_items(void* to, const void* from, std::int64_t item_bytes, const StridedAxes& axes,
                cudaStream_t stream) {
  const std::optional<std::size_t> source = short_source_axis(axes);
  const Moves moves = moves_of(axes, source ? *source : parted_axis(axes));
  with_item(item_bytes, [&](auto item) {
    launch_moves<decltype(item), 1, Packed::both>(to, from, moves, stream);
  });
}

template <class Item, int size>
void launch_runs(void* to, const void* from, Packed packed, const Moves& moves,
                 cudaStream_t stream) {
  if constexpr (size * sizeof(Item) <= 16) {
    packed == Packed::target ? launch_moves<Item, size, Packed::target>(to, from, moves, stream)
                             : launch_moves<Item, size, Packed::source>(to, from, moves, stream);
  }
}

void copy_runs(void* to, const void* from, std::int64_t element_bytes, const RunAxis& run,
               StridedAxes axes, cudaStream_t stream) {
  const std::int64_t step = axes.strides[run.packed == Packed::target ? 1 : 0][run.axis];
  axes.extents[run.axis] /= run.size;
  for (auto& strides : axes.strides) strides[run.axis] *= run.size;
  axes = axes.merged();
  if (axes.extents.empty()) axes = {{1}, {{1}, {1}}};
  Moves moves = moves_of(axes, parted_axis(axes));
  moves.step = static_cast<std::int32_t>(step);
  with_item(element_bytes, [&](auto item) {
    using Item = decltype(item);
    switch (run.size) {
      case 2: return launch_runs<Item, 2>(to, from, run.packed, moves, stream);
      case 4: return launch_runs<Item, 4>(to, from, run.packed, moves, stream);
      default: return launch_runs<Item, 8>(to, from, run.packed, moves, stream);
    }
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
  if (copy_by_tiles(to, from, element_bytes, merged, stream)) return;
  if (const std::optional<RunAxis> run = run_axis(merged, element_bytes, to, from))
    return copy_runs(to, from, element_bytes, *run, std::move(merged), stream);
  const std::int64_t item_bytes = widen(merged, element_bytes, to, from);
  copy_items(to, from, item_bytes, merged.merged(), stream);
}

}  // namespace strata::cuda::train
