// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/moving/movement.cuh"

#include <algorithm>

namespace strata::cuda::train {
namespace {

/// A thread writes as many items, from as many parts of the outermost axis, and asks for all that
/// it needs before it has any.
constexpr int parts = 4;

/// The box and the array around it as a kernel takes them, the innermost axis first.
struct Padding {
  int axes = 0;
  FastDivisor extents[most_map_axes];
  std::uint32_t begin[most_map_axes] = {}, lengths[most_map_axes] = {};
  std::int32_t from[most_map_axes] = {};
  std::uint32_t outermost = 1;  ///< extent
  std::uint32_t part = 1;       ///< of it
  std::int32_t from_part = 0;   ///< from one part to the next
  std::uint32_t count = 1;      ///< items of a part

  explicit Padding(const PaddedBox& box) : axes(static_cast<int>(box.extents.size())) {
    for (std::size_t axis = 0; axis < box.extents.size(); ++axis) {
      const std::size_t at = box.extents.size() - 1 - axis;
      extents[at] = FastDivisor(static_cast<std::uint32_t>(box.extents[axis]));
      begin[at] = static_cast<std::uint32_t>(box.begin[axis]);
      lengths[at] = static_cast<std::uint32_t>(box.lengths[axis]);
      from[at] = static_cast<std::int32_t>(box.from[axis]);
      if (axis > 0) count *= extents[at].divisor;
    }
    outermost = static_cast<std::uint32_t>(box.extents[0]);
    part = (outermost + parts - 1) / parts;
    from_part = static_cast<std::int32_t>(part * box.from[0]);
    count *= part;
  }

  /// Before the box begins, the difference is a very large number.
  __device__ bool is_inside(int axis, std::uint32_t at) const {
    return at - begin[axis] < lengths[axis];
  }
  __device__ std::int32_t offset(int axis, std::uint32_t at) const {
    return static_cast<std::int32_t>(at - begin[axis]) * from[axis];
  }

  struct Place {
    bool is_inside;     ///< along all axes but the outermost
    std::int32_t from;  ///< of the first part's item, if it is in the box
    std::uint32_t at;   ///< along the outermost
  };
  __device__ Place place(std::uint32_t n) const {
    Place place{true, 0, 0};
#pragma unroll
    for (int axis = 0; axis < most_map_axes; ++axis) {
      if (axis + 1 >= axes) {
        place.from += offset(axis, n);
        break;
      }
      const std::uint32_t rest = extents[axis].quotient(n);
      const std::uint32_t at = n - rest * extents[axis].divisor;
      place.is_inside = place.is_inside && is_inside(axis, at);
      place.from += offset(axis, at);
      n = rest;
    }
    place.at = n;
    return place;
  }
};

template <class Item>
__global__ void __launch_bounds__(threads_per_block)
    copy_with_zeros(Item* to, const Item* from, Padding padding) {
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= padding.count) return;
  const Padding::Place place = padding.place(n);
  Item items[parts];
#pragma unroll
  for (int i = 0; i < parts; ++i) {
    // Without a branch: beside the box the box's first item is read and dropped.
    const bool is_inside =
        place.is_inside && padding.is_inside(padding.axes - 1, place.at + i * padding.part);
    const Item item = from[is_inside ? place.from + i * padding.from_part : 0];
    items[i] = is_inside ? item : Item{};
  }
#pragma unroll
  for (int i = 0; i < parts; ++i) {
    if (place.at + i * padding.part < padding.outermost) to[n + i * padding.count] = items[i];
  }
}

/// Joins an axis that the box fills with the one before it, and leaves out those of one number.
PaddedBox merged(const PaddedBox& box) {
  PaddedBox result;
  for (std::size_t axis = 0; axis < box.extents.size(); ++axis) {
    const std::int64_t extent = box.extents[axis];
    if (extent == 1) continue;
    const bool is_filled = box.lengths[axis] == extent;
    if (is_filled && !result.extents.empty() && result.from.back() == box.from[axis] * extent) {
      result.extents.back() *= extent;
      result.begin.back() *= extent;
      result.lengths.back() *= extent;
      result.from.back() = box.from[axis];
    } else {
      result.extents.push_back(extent);
      result.begin.push_back(box.begin[axis]);
      result.lengths.push_back(box.lengths[axis]);
      result.from.push_back(box.from[axis]);
    }
  }
  return result;
}

/// Whole packs of numbers that are either all in the box or all beside it move as one item; says of
/// how many bytes.
std::int64_t widen(PaddedBox& box, std::int64_t element_bytes, const void* to, const void* from) {
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  std::int64_t bytes = 16;
  for (; bytes > element_bytes; bytes /= 2) {
    const std::int64_t pack = bytes / element_bytes;
    const bool is_whole = box.extents.back() % pack == 0 && box.begin.back() % pack == 0 &&
                          box.lengths.back() % pack == 0 && box.from.back() == 1 &&
                          addresses % static_cast<std::uintptr_t>(bytes) == 0 &&
                          std::all_of(box.from.begin(), box.from.end() - 1,
                                      [&](std::int64_t stride) { return stride % pack == 0; });
    if (!is_whole) continue;
    for (auto* const numbers : {&box.extents, &box.begin, &box.lengths}) numbers->back() /= pack;
    for (std::size_t axis = 0; axis + 1 < box.from.size(); ++axis) box.from[axis] /= pack;
    break;
  }
  return bytes;
}

template <class Item>
void launch_copy(void* to, const void* from, const Padding& padding, cudaStream_t stream) {
  copy_with_zeros<<<blocks_for(padding.count), threads_per_block, 0, stream>>>(
      static_cast<Item*>(to), static_cast<const Item*>(from), padding);
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace

void copy_padded(void* to, const void* from, std::int64_t element_bytes, const PaddedBox& box,
                 cudaStream_t stream) {
  PaddedBox whole = merged(box);
  if (whole.extents.empty()) whole = {{1}, {0}, {1}, {1}};
  const std::int64_t item_bytes = widen(whole, element_bytes, to, from);
  const Padding padding(whole);
  switch (item_bytes) {
    case 1: return launch_copy<std::uint8_t>(to, from, padding, stream);
    case 2: return launch_copy<std::uint16_t>(to, from, padding, stream);
    case 4: return launch_copy<std::uint32_t>(to, from, padding, stream);
    case 8: return launch_copy<std::uint64_t>(to, from, padding, stream);
    default: return launch_copy<uint4>(to, from, padding, stream);
  }
}

}  // namespace strata::cuda::train
