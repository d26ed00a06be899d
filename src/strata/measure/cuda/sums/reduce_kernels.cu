// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/elements/strided_map.cuh"
#include "strata/measure/cuda/sums/reduce.cuh"
#include "strata/measure/cuda/sums/sums.cuh"

namespace strata::cuda::train {
namespace {

struct Joined {
  ReduceKind kind;
  template <class A>
  __device__ A nothing() const {
    switch (kind) {
      case ReduceKind::maximum: return A(-INFINITY);
      case ReduceKind::minimum: return A(INFINITY);
      case ReduceKind::product: return A(1);
      default: return A(0);
    }
  }
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
__device__ A finished(ReduceKind kind, A x, std::int64_t length) {
  if (kind == ReduceKind::mean) return x / A(length);
  return kind == ReduceKind::l2 ? sqrt(x) : x;
}

template <class A>
struct ReducedTerms {
  ReduceKind kind;
  __device__ void begin(std::int64_t, std::int64_t) {}
  __device__ void add(A v, A, A& result, A&) const {
    result = Joined{kind}(result, kind == ReduceKind::l2 ? v * v : v);
  }
};
template <class T>
struct StoredResult {
  ReduceKind kind;
  T* y;
  std::int64_t length;
  __device__ void operator()(std::int64_t result, Compute<T> x, Compute<T>) const {
    y[result] = stored<T>(finished(kind, x, length));
  }
};

// Axes in an order that no layout of sums has: each number's place is looked up.

template <class T>
__device__ Compute<T> reduced_by_thread(ReduceKind kind, const T* x, const IndexMap<1>& map,
                                        std::uint32_t first, std::uint32_t step,
                                        std::uint32_t length, std::int64_t base) {
  using A = Compute<T>;
  A result = Joined{kind}.template nothing<A>();
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
  const A all = over_block(mine, Joined{kind}, Joined{kind}.template nothing<A>());
  if (threadIdx.x == 0) y[blockIdx.x] = stored<T>(finished(kind, all, length));
}

/// Of dy, y (both repeated) and x.
template <class A>
struct SpreadResult {
  ReduceKind kind;
  __device__ A operator()(const A* values) const {
    const A dy = values[0];
    switch (kind) {
      case ReduceKind::maximum:
      case ReduceKind::minimum: return values[2] == values[1] ? dy : A(0);
      default: return dy / values[1] * values[2];  // l2; products have a kernel of their own
    }
  }
};
template <class A>
struct SpreadSum {
  A share;
  __device__ A operator()(const A* dy) const { return *dy * share; }
};

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

template <class A>
struct ProductSum {
  __device__ void begin(std::int64_t, std::int64_t) {}
  __device__ void add(A a, A b, A& first, A&) const { first += a * b; }
};

template <class T, int inputs, class Terms>
void sum_and_finish(const SumLayout& layout, void* sums, const void* a, const void* b,
                    void* scratch, Terms terms, double factor, cudaStream_t stream) {
  using A = Compute<T>;
  auto* const partials = static_cast<A*>(scratch);
  launch_sums<T, inputs>(layout, static_cast<const T*>(a), static_cast<const T*>(b), partials,
                         terms, stream);
  launch_finish(layout, static_cast<const A*>(partials),
                StoredSums<T>{static_cast<T*>(sums), nullptr, A(factor)}, stream);
}

template <class T>
void reduce_by_layout(ReduceKind kind, T* y, const T* x, const SumLayout& layout, void* scratch,
                      cudaStream_t stream) {
  using A = Compute<T>;
  auto* const partials = static_cast<A*>(scratch);
  launch_sums<T, 1>(layout, x, x, partials, ReducedTerms<A>{kind}, stream, Joined{kind});
  launch_finish(layout, static_cast<const A*>(partials), StoredResult<T>{kind, y, layout.terms()},
                stream, Joined{kind});
}

}  // namespace

void reduce_places(ReduceKind kind, void* y, const void* x, DType dtype, const StridedAxes& kept,
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

void reduce(ReduceKind kind, void* y, const void* x, DType dtype, const Reduction& reduction,
            void* scratch, cudaStream_t stream) {
  if (!reduction.layout)
    return reduce_places(kind, y, x, dtype, reduction.kept, reduction.reduced, stream);
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    reduce_by_layout(kind, static_cast<T*>(y), static_cast<const T*>(x), *reduction.layout, scratch,
                     stream);
  });
}

void reduce_gradient(ReduceKind kind, void* dx, const void* dy, const void* y, const void* x,
                     DType dtype, const StridedAxes& axes, std::int64_t length,
                     cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    using A = Compute<T>;
    const auto numbers = [](const void* data) { return static_cast<const T*>(data); };
    if (kind == ReduceKind::sum || kind == ReduceKind::mean) {
      const A share = kind == ReduceKind::mean ? A(1) / A(length) : A(1);
      launch_strided_map(static_cast<T*>(dx), std::array{numbers(dy)}, axes, SpreadSum<A>{share},
                         stream);
      return;
    }
    StridedAxes all = axes;
    all.strides.push_back(axes.strides[0]);              // y's place is dy's
    all.strides.push_back(dense_strides(axes.extents));  // x's is dx's
    launch_strided_map(static_cast<T*>(dx), std::array{numbers(dy), numbers(y), numbers(x)}, all,
                       SpreadResult<A>{kind}, stream);
  });
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

std::int64_t sum_scratch(const SumLayout& layout) { return sum_partials(layout); }
void sum_over(const SumLayout& layout, void* sums, const void* a, const void* b, double factor,
              DType dtype, void* scratch, cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    using A = Compute<T>;
    if (b == nullptr) {
      sum_and_finish<T, 1>(layout, sums, a, a, scratch, PlainSum<A>{}, factor, stream);
    } else {
      sum_and_finish<T, 2>(layout, sums, a, b, scratch, ProductSum<A>{}, factor, stream);
    }
  });
}

void sum_over_channels(const ChannelArray& array, void* sums, const void* dy, void* scratch,
                       cudaStream_t stream) {
  sum_over(layout_of(array), sums, dy, nullptr, 1, array.dtype, scratch, stream);
}

void sum_slope_gradient(const ChannelArray& array, void* slope, const void* dy, const void* x,
                        void* scratch, cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    sum_and_finish<T, 2>(layout_of(array), slope, dy, x, scratch, SlopeSum<Compute<T>>{}, 1,
                         stream);
  });
}

}  // namespace strata::cuda::train
