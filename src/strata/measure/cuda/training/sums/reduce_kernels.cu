// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/training/sums/reduce.cuh"
#include "strata/measure/cuda/training/sums/sums.cuh"

namespace strata::cuda::train {
namespace {

template <class A>
__device__ A nothing_yet(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::maximum: return A(-INFINITY);
    case ReduceKind::minimum: return A(INFINITY);
    case ReduceKind::product: return A(1);
    default: return A(0);
  }
}

struct Joined {
  ReduceKind kind;
  template <class A>
  __device__ A operator()(A a, A b) const {
    switch (kind) {
      case ReduceKind::maximum: return a > b ? a : b;
      case ReduceKind::minimum: return a < b ? a : b;
      case ReduceKind::product: return a * b;
      default: return a + b;
    }
  }
};

template <class A>
__device__ A finished(ReduceKind kind, A x, std::uint32_t length) {
  if (kind == ReduceKind::mean) return x / A(length);
  return kind == ReduceKind::l2 ? sqrt(x) : x;
}

template <class T>
__device__ Compute<T> reduced_by_thread(ReduceKind kind, const T* x, const IndexMap<1>& map,
                                        std::uint32_t first, std::uint32_t step,
                                        std::uint32_t length, std::int64_t base) {
  using A = Compute<T>;
  A result = nothing_yet<A>(kind);
  for (std::uint32_t r = first; r < length; r += step) {
    std::int64_t place = base;
    map.add_places(r, &place, 1);
    const A v = value(x[place]);
    result = Joined{kind}(result, kind == ReduceKind::l2 ? v * v : v);
  }
  return result;
}

template <class T>
__global__ void reduce_by_threads(ReduceKind kind, T* y, const T* x, IndexMap<1> kept,
                                  std::int64_t count, IndexMap<1> reduced, std::uint32_t length) {
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= count) return;
  std::int64_t base = 0;
  kept.add_places(static_cast<std::uint32_t>(n), &base, 1);
  y[n] = stored<T>(finished(kind, reduced_by_thread(kind, x, reduced, 0, 1, length, base), length));
}

template <class T>
__global__ void reduce_by_blocks(ReduceKind kind, T* y, const T* x, IndexMap<1> kept,
                                 IndexMap<1> reduced, std::uint32_t length) {
  using A = Compute<T>;
  std::int64_t base = 0;
  kept.add_places(blockIdx.x, &base, 1);
  const A mine = reduced_by_thread(kind, x, reduced, threadIdx.x, blockDim.x, length, base);
  const A all = over_block(mine, Joined{kind}, nothing_yet<A>(kind));
  if (threadIdx.x == 0) y[blockIdx.x] = stored<T>(finished(kind, all, length));
}

template <class T>
__global__ void spread(ReduceKind kind, T* dx, const T* dy, const T* y, const T* x, IndexMap<1> map,
                       std::int64_t count, Compute<T> length) {
  using A = Compute<T>;
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= count) return;
  std::int64_t place = 0;
  map.add_places(static_cast<std::uint32_t>(n), &place, 1);
  const A d = value(dy[place]);
  switch (kind) {
    case ReduceKind::sum: dx[n] = stored<T>(d); return;
    case ReduceKind::mean: dx[n] = stored<T>(d / length); return;
    case ReduceKind::maximum:
    case ReduceKind::minimum:
      dx[n] = stored<T>(A(value(x[n])) == A(value(y[place])) ? d : A(0));
      return;
    case ReduceKind::product: return;  // has a kernel of its own
    case ReduceKind::l2: dx[n] = stored<T>(d / A(value(y[place])) * A(value(x[n]))); return;
  }
}

template <class T>
__global__ void spread_product(T* dx, const T* dy, const T* y, const T* x, IndexMap<2> map,
                               IndexMap<1> reduced, std::int64_t count, std::uint32_t length) {
  using A = Compute<T>;
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= count) return;
  std::int64_t places[2] = {0, 0};
  map.add_places(static_cast<std::uint32_t>(n), places, 2);
  const A own = value(x[n]);
  A others = A(value(y[places[0]])) / own;
  if (own == A(0)) {  // seldom: all others, one by one
    others = A(1);
    for (std::uint32_t r = 0; r < length && others != A(0); ++r) {
      std::int64_t place = places[1];
      reduced.add_places(r, &place, 1);
      if (place != n) others *= A(value(x[place]));
    }
  }
  dx[n] = stored<T>(A(value(dy[places[0]])) * others);
}

template <class A>
struct PlainSum {
  __device__ void begin(std::int64_t, std::int64_t) {}
  __device__ void add(A a, A, A& first, A&) const { first += a; }
};
template <class A>
struct SlopeSum {
  __device__ void begin(std::int64_t, std::int64_t) {}
  __device__ void add(A dy, A x, A& first, A&) const { first += x < A(0) ? dy * x : A(0); }
};

template <class T, int inputs, class Terms>
void sum_and_finish(const ChannelArray& array, void* sums, const void* a, const void* b,
                    void* scratch, Terms terms, cudaStream_t stream) {
  auto* const partials = static_cast<Compute<T>*>(scratch);
  const auto* const pa = static_cast<const T*>(a);
  const auto* const pb = static_cast<const T*>(b);
  int splits = 0;
  if (array.inner == 1) {
    launch_column_sums<T, inputs>(pa, pb, array.rows, array.channels, partials, terms, stream);
    splits = column_splits(array.rows, array.channels);
  } else {
    launch_channel_sums<T, inputs>(pa, pb, array.rows, array.channels, array.inner, partials, terms,
                                   stream);
    splits = channel_splits(array.rows, array.channels);
  }
  launch_finish_sums<T>(static_cast<T*>(sums), nullptr, partials, array.channels, splits, stream);
}

}  // namespace

void reduce(ReduceKind kind, void* y, const void* x, DType dtype, const StridedAxes& kept,
            const StridedAxes& reduced, cudaStream_t stream) {
  constexpr std::int64_t enough_for_a_block = 64;
  const std::int64_t count = kept.elements(), length = reduced.elements();
  const IndexMap<1> kept_map(kept.merged()), reduced_map(reduced.merged());
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    if (length < enough_for_a_block) {
      reduce_by_threads<<<blocks_for(count), threads_per_block, 0, stream>>>(
          kind, static_cast<T*>(y), static_cast<const T*>(x), kept_map, count, reduced_map,
          static_cast<std::uint32_t>(length));
    } else {
      reduce_by_blocks<<<static_cast<unsigned>(count), threads_per_block, 0, stream>>>(
          kind, static_cast<T*>(y), static_cast<const T*>(x), kept_map, reduced_map,
          static_cast<std::uint32_t>(length));
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void reduce_gradient(ReduceKind kind, void* dx, const void* dy, const void* y, const void* x,
                     DType dtype, const StridedAxes& axes, std::int64_t length,
                     cudaStream_t stream) {
  const std::int64_t count = axes.elements();
  const IndexMap<1> map(axes.merged());
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    spread<<<blocks_for(count), threads_per_block, 0, stream>>>(
        kind, static_cast<T*>(dx), static_cast<const T*>(dy), static_cast<const T*>(y),
        static_cast<const T*>(x), map, count, static_cast<Compute<T>>(length));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void product_gradient(void* dx, const void* dy, const void* y, const void* x, DType dtype,
                      const StridedAxes& axes, const StridedAxes& reduced, cudaStream_t stream) {
  const std::int64_t count = axes.elements();
  const IndexMap<2> map(axes.merged());
  const IndexMap<1> reduced_map(reduced.merged());
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    spread_product<<<blocks_for(count), threads_per_block, 0, stream>>>(
        static_cast<T*>(dx), static_cast<const T*>(dy), static_cast<const T*>(y),
        static_cast<const T*>(x), map, reduced_map, count,
        static_cast<std::uint32_t>(reduced.elements()));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

std::int64_t channel_sum_scratch(const ChannelArray& array) {
  return array.inner == 1 ? column_partials(array.rows, array.channels)
                          : channel_partials(array.rows, array.channels);
}

void sum_over_channels(const ChannelArray& array, void* sums, const void* dy, void* scratch,
                       cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    sum_and_finish<T, 1>(array, sums, dy, nullptr, scratch, PlainSum<Compute<T>>{}, stream);
  });
}

void sum_slope_gradient(const ChannelArray& array, void* slope, const void* dy, const void* x,
                        void* scratch, cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    sum_and_finish<T, 2>(array, slope, dy, x, scratch, SlopeSum<Compute<T>>{}, stream);
  });
}

}  // namespace strata::cuda::train
