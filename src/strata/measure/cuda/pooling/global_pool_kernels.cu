// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/elements/channel_packs.cuh"
#include "strata/measure/cuda/pooling/global_pool.cuh"

namespace strata::cuda::train {
namespace {

/// Packs that a thread asks for before it adds any of them up.
constexpr int packs_at_once = 4;

struct PlaneSums {
  std::uint32_t planes;
  int length;
  std::uint32_t in_packs;  ///< numbers from the array's beginning that lie in whole packs
  int lanes_log2;          ///< of a plane's threads, which are at most a warp

  __host__ __device__ int lanes() const { return 1 << lanes_log2; }
};

/// Planes need not begin with a pack: a plane's threads read every pack that it has a part of, and
/// leave out what belongs to its neighbours.
template <class T>
__device__ Compute<T> sum_of_packs(const PlaneSums& sums, const T* x, std::uint32_t begin,
                                   std::uint32_t end, std::uint32_t lane) {
  using A = Compute<T>;
  constexpr std::uint32_t size = Pack<T>::size;
  const auto* const packs = reinterpret_cast<const Pack<T>*>(x);
  const std::uint32_t last = ((end < sums.in_packs ? end : sums.in_packs) + size - 1) / size;
  A sum = 0;
  for (std::uint32_t at = begin / size + lane; at < last; at += packs_at_once * sums.lanes()) {
    Pack<T> read[packs_at_once];
#pragma unroll
    for (int k = 0; k < packs_at_once; ++k) {
      const std::uint32_t pack = at + k * sums.lanes();
      read[k] = pack < last ? packs[pack] : Pack<T>{};
    }
#pragma unroll
    for (int k = 0; k < packs_at_once; ++k) {
      const std::uint32_t first =
          (at + k * sums.lanes()) * size - begin;  // wraps where it is before
#pragma unroll
      for (std::uint32_t i = 0; i < size; ++i) {
        if (first + i < static_cast<std::uint32_t>(sums.length)) sum += A(value(read[k].item[i]));
      }
    }
  }
  return sum;
}

template <class T>
__global__ void __launch_bounds__(threads_per_block)
    average_by_lanes(PlaneSums sums, T* y, const T* x, Compute<T> share) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t plane = thread >> sums.lanes_log2, lane = thread & (sums.lanes() - 1);
  // Every thread stays until the last sum, also those beyond the last plane.
  const std::uint32_t begin = (plane < sums.planes ? plane : sums.planes) * sums.length;
  const std::uint32_t end = plane < sums.planes ? begin + sums.length : begin;
  Compute<T> sum = sum_of_packs(sums, x, begin, end, lane);
  for (std::uint32_t i = (begin > sums.in_packs ? begin : sums.in_packs) + lane; i < end;
       i += sums.lanes())
    sum += Compute<T>(value(x[i]));
  for (int step = sums.lanes() / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0 && plane < sums.planes) y[plane] = stored<T>(sum * share);
}

/// dx of every number of a plane, of which dy has one.
template <class T>
struct Spread {
  const T* dy;
  Compute<T> share;
  template <class A>
  __device__ A operator()(A, A, std::uint32_t plane) const {
    return A(value(dy[plane])) * share;
  }
};

/// As many threads for a plane as keep one round of reading busy.
template <class T>
PlaneSums sums_of(const PoolRun& run, const void* x) {
  PlaneSums sums;
  sums.planes = static_cast<std::uint32_t>(run.planes);
  sums.length = static_cast<int>(run.in_plane());
  const std::int64_t packs = run.planes * run.in_plane() / Pack<T>::size;
  sums.in_packs = is_aligned(x) ? static_cast<std::uint32_t>(packs * Pack<T>::size) : 0;
  const int touched = (sums.length + Pack<T>::size - 2) / Pack<T>::size + 1;
  sums.lanes_log2 = 0;
  while (sums.lanes() < 32 && sums.lanes() * packs_at_once < touched) ++sums.lanes_log2;
  return sums;
}

}  // namespace

bool is_global_average(const PoolRun& run) {
  return run.kind == PoolKind::average && run.is_adaptive && run.out_plane() == 1;
}

void average_planes(const PoolRun& run, void* y, const void* x, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    const PlaneSums sums = sums_of<T>(run, x);
    average_by_lanes<<<blocks_for(run.planes * sums.lanes()), threads_per_block, 0, stream>>>(
        sums, static_cast<T*>(y), static_cast<const T*>(x),
        Compute<T>(1) / Compute<T>(run.in_plane()));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void average_planes_gradient(const PoolRun& run, void* dx, const void* dy, cudaStream_t stream) {
  ChannelArray planes;
  planes.channels = run.planes;
  planes.inner = run.in_plane();
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    map_channels<T, 0>(
        planes, static_cast<T*>(dx), nullptr, nullptr,
        Spread<T>{static_cast<const T*>(dy), Compute<T>(1) / Compute<T>(run.in_plane())}, stream);
  });
}

}  // namespace strata::cuda::train
