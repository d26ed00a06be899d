// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/kernels/reduce.cuh"
#include "strata/measure/cuda/kernels/strided_map.cuh"

namespace strata::cuda::train {
namespace {

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

}  // namespace

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

}  // namespace strata::cuda::train
