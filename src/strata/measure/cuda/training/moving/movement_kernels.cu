// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/api.cuh"
#include "strata/measure/cuda/training/element.cuh"
#include "strata/measure/cuda/training/elements/pointwise.cuh"
#include "strata/measure/cuda/training/moving/movement.cuh"
#include "strata/measure/training/constants.hpp"

#include <utility>

namespace strata::cuda::train {
namespace {

template <class Item>
__global__ void move_items(Item* to, const Item* from, IndexMap<2> map, std::int64_t count) {
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= count) return;
  std::int64_t places[2] = {};
  map.add_places(static_cast<std::uint32_t>(n), places, 2);
  to[places[0]] = from[places[1]];
}

// Runs of whole 16-byte items move as such.
bool widen(StridedAxes& axes, std::int64_t element_bytes, const void* to, const void* from) {
  const std::int64_t per_item = 16 / element_bytes;
  if (element_bytes == 16 || axes.extents.empty() || !is_aligned(to) || !is_aligned(from))
    return false;
  const std::size_t last = axes.extents.size() - 1;
  if (axes.extents[last] % per_item != 0 || axes.strides[0][last] != 1 ||
      axes.strides[1][last] != 1)
    return false;
  for (std::size_t axis = 0; axis < last; ++axis) {
    if (axes.strides[0][axis] % per_item != 0 || axes.strides[1][axis] % per_item != 0)
      return false;
  }
  axes.extents[last] /= per_item;
  for (auto& strides : axes.strides) {
    for (std::size_t axis = 0; axis < last; ++axis) strides[axis] /= per_item;
  }
  return true;
}

template <class Item>
void launch_move(void* to, const void* from, const StridedAxes& axes, cudaStream_t stream) {
  const std::int64_t count = axes.elements();
  move_items<<<blocks_for(count), threads_per_block, 0, stream>>>(
      static_cast<Item*>(to), static_cast<const Item*>(from), IndexMap<2>(axes), count);
  STRATA_CUDA_CALL(cudaGetLastError());
}

/// A warp takes a row of `inner` numbers: which it is, and where it comes from.
struct LookedUp {
  std::int64_t row, from;
};
__device__ LookedUp row_of_warp(const LookupRun& run, const void* indices) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= run.outer * run.count) return {-1, 0};
  const std::int64_t chosen = index_at(indices, run.indices_are_64_bit, row % run.count);
  return {row, row / run.count * run.choices + chosen};
}

template <class T>
__global__ void look_up_numbers(LookupRun run, T* y, const T* data, const void* indices) {
  const LookedUp it = row_of_warp(run, indices);
  if (it.row < 0) return;
  for (std::int64_t i = threadIdx.x % 32; i < run.inner; i += 32)
    y[it.row * run.inner + i] = data[it.from * run.inner + i];
}

template <class T, class A>
__global__ void add_rows(LookupRun run, A* gradient, const T* dy, const void* indices) {
  const LookedUp it = row_of_warp(run, indices);
  if (it.row < 0) return;
  for (std::int64_t i = threadIdx.x % 32; i < run.inner; i += 32)
    atomicAdd(gradient + it.from * run.inner + i, A(value(dy[it.row * run.inner + i])));
}

/// Up to four neighbours along one axis and how much each weighs.
template <class A>
struct Taps {
  int count;
  int place[4];
  A weight[4];
};

template <class A>
__device__ Taps<A> taps_of(ResizeKind kind, int in, int out, int i) {
  if (in == out) return {1, {i}, {A(1)}};
  if (kind == ResizeKind::nearest)
    return {1, {static_cast<int>(std::int64_t{i} * in / out)}, {A(1)}};
  const A centre = (A(i) + A(0.5)) * A(in) / A(out) - A(0.5);
  const A base = floor(centre), beyond = centre - base;
  const int before = kind == ResizeKind::linear ? 0 : 1;
  Taps<A> taps;
  taps.count = kind == ResizeKind::linear ? 2 : 4;
  for (int k = 0; k < taps.count; ++k) {
    const int place = static_cast<int>(base) + k - before;
    taps.place[k] = place < 0 ? 0 : (place < in ? place : in - 1);
    const A d = fabs(beyond - A(k - before)), a = A(training_constants::cubic_resize_a);
    taps.weight[k] = kind == ResizeKind::linear ? A(1) - d
                     : d <= A(1)                ? ((a + A(2)) * d - (a + A(3))) * d * d + A(1)
                                 : ((a * d - A(5) * a) * d + A(8) * a) * d - A(4) * a;
  }
  return taps;
}

/// Calls f(place in x, weight) for everything that result n is made of.
template <class A, class F>
__device__ void for_each_tap(const ResizeRun& run, std::int64_t n, const F& f) {
  const int x = static_cast<int>(n % run.out[2]);
  n /= run.out[2];
  const int y = static_cast<int>(n % run.out[1]);
  n /= run.out[1];
  const int z = static_cast<int>(n % run.out[0]);
  n /= run.out[0];
  const Taps<A> tz = taps_of<A>(run.kind, run.in[0], run.out[0], z);
  const Taps<A> ty = taps_of<A>(run.kind, run.in[1], run.out[1], y);
  const Taps<A> tx = taps_of<A>(run.kind, run.in[2], run.out[2], x);
  for (int a = 0; a < tz.count; ++a) {
    for (int b = 0; b < ty.count; ++b) {
      const std::int64_t line =
          ((n * run.in[0] + tz.place[a]) * run.in[1] + ty.place[b]) * run.in[2];
      for (int c = 0; c < tx.count; ++c)
        f(line + tx.place[c], tz.weight[a] * ty.weight[b] * tx.weight[c]);
    }
  }
}

template <class T>
__global__ void resize_numbers(ResizeRun run, T* y, const T* x) {
  using A = Compute<T>;
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= run.out_elements()) return;
  A sum = 0;
  for_each_tap<A>(run, n,
                  [&](std::int64_t place, A weight) { sum += weight * A(value(x[place])); });
  y[n] = stored<T>(sum);
}

template <class T, class A>
__global__ void resize_numbers_gradient(ResizeRun run, A* dx, const T* dy) {
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= run.out_elements()) return;
  const A d = value(dy[n]);
  for_each_tap<A>(run, n, [&](std::int64_t place, A weight) { atomicAdd(dx + place, weight * d); });
}

template <class T>
constexpr bool adds_in_place = std::is_same_v<T, Compute<T>>;

/// Sums go into zeros of the type they are computed in, which for a short type are elsewhere.
template <class T, class Launch>
void add_into(void* gradient, std::int64_t elements, DType dtype, void* scratch,
              cudaStream_t stream, const Launch& launch) {
  using A = Compute<T>;
  auto* const sums = static_cast<A*>(adds_in_place<T> ? gradient : scratch);
  STRATA_CUDA_CALL(
      cudaMemsetAsync(sums, 0, static_cast<std::size_t>(elements) * sizeof(A), stream));
  launch(sums);
  STRATA_CUDA_CALL(cudaGetLastError());
  if (!adds_in_place<T>) convert(gradient, dtype, sums, DType::fp32, elements, stream);
}

}  // namespace

void copy_strided(void* to, const void* from, std::int64_t element_bytes, const StridedAxes& axes,
                  cudaStream_t stream) {
  StridedAxes merged = axes.merged();
  if (widen(merged, element_bytes, to, from))
    return launch_move<uint4>(to, from, merged.merged(), stream);
  switch (element_bytes) {
    case 1: return launch_move<std::uint8_t>(to, from, merged, stream);
    case 2: return launch_move<std::uint16_t>(to, from, merged, stream);
    case 4: return launch_move<std::uint32_t>(to, from, merged, stream);
    default: return launch_move<std::uint64_t>(to, from, merged, stream);
  }
}

void look_up(const LookupRun& run, void* y, const void* data, const void* indices,
             cudaStream_t stream) {
  const std::int64_t threads = 32 * run.outer * run.count;
  const auto launch = [&](auto item) {
    using Item = decltype(item);
    look_up_numbers<<<blocks_for(threads), threads_per_block, 0, stream>>>(
        run, static_cast<Item*>(y), static_cast<const Item*>(data), indices);
  };
  switch (bytes_per_element(run.dtype)) {
    case 1: launch(std::uint8_t{}); break;
    case 2: launch(std::uint16_t{}); break;
    case 4: launch(std::uint32_t{}); break;
    default: launch(std::uint64_t{}); break;
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

std::int64_t sums_scratch(std::int64_t elements, DType dtype) {
  return bytes_per_element(dtype) < 4 ? elements : 0;
}

void look_up_gradient(const LookupRun& run, void* gradient, const void* dy, const void* indices,
                      void* scratch, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    add_into<T>(
        gradient, run.outer * run.choices * run.inner, run.dtype, scratch, stream,
        [&](Compute<T>* sums) {
          add_rows<<<blocks_for(32 * run.outer * run.count), threads_per_block, 0, stream>>>(
              run, sums, static_cast<const T*>(dy), indices);
        });
  });
}

void resize(const ResizeRun& run, void* y, const void* x, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    resize_numbers<<<blocks_for(run.out_elements()), threads_per_block, 0, stream>>>(
        run, static_cast<T*>(y), static_cast<const T*>(x));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void resize_gradient(const ResizeRun& run, void* dx, const void* dy, void* scratch,
                     cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    add_into<T>(dx, run.in_elements(), run.dtype, scratch, stream, [&](Compute<T>* sums) {
      resize_numbers_gradient<<<blocks_for(run.out_elements()), threads_per_block, 0, stream>>>(
          run, sums, static_cast<const T*>(dy));
    });
  });
}

}  // namespace strata::cuda::train
