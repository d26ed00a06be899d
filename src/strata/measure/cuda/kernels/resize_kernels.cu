// SPDX-License-Identifier: Apache-2.0
// A thread makes one number: forward of the places that it is a weighted sum of, backward of the
// results that the place had a part in.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/movement.cuh"
#include "strata/measure/cuda/kernels/resize_taps.cuh"

#include <type_traits>

namespace strata::cuda::train {
namespace {

/// Planes of three axes, the innermost last, each number of which is a sum over another plane.
struct ResizedPlanes {
  ResizeAxis axes[3];
  FastDivisor height, width, plane;  ///< of the numbers that are made
  int from_height, from_width;
  std::int64_t from_plane;
  std::uint32_t count;

  ResizedPlanes(const ResizeRun& run, bool is_backward) {
    const int(&to)[3] = is_backward ? run.in : run.out;
    const int(&from)[3] = is_backward ? run.out : run.in;
    for (int axis = 0; axis < 3; ++axis) axes[axis] = ResizeAxis(run.in[axis], run.out[axis]);
    height = FastDivisor(static_cast<std::uint32_t>(to[1]));
    width = FastDivisor(static_cast<std::uint32_t>(to[2]));
    plane = FastDivisor(static_cast<std::uint32_t>(to[0]) * height.divisor * width.divisor);
    from_height = from[1];
    from_width = from[2];
    from_plane = std::int64_t{from[0]} * from[1] * from[2];
    count = static_cast<std::uint32_t>(run.planes) * plane.divisor;
  }

  struct Place {
    std::uint32_t plane;
    int z, y, x;
  };
  __device__ Place place(std::uint32_t n) const {
    const std::uint32_t p = plane.quotient(n), in_plane = n - p * plane.divisor;
    const std::uint32_t line = width.quotient(in_plane), z = height.quotient(line);
    return {p, static_cast<int>(z), static_cast<int>(line - z * height.divisor),
            static_cast<int>(in_plane - line * width.divisor)};
  }
};

template <class T, ResizeKind kind>
__global__ void __launch_bounds__(threads_per_block)
    resize_planes(ResizedPlanes planes, T* y, const T* x) {
  using A = Compute<T>;
  using Rule = ResizeRule<kind>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= planes.count) return;
  const ResizedPlanes::Place place = planes.place(n);
  const T* const from = x + place.plane * planes.from_plane;
  A sum = 0;
  for (int a = 0; a < Rule::taps; ++a) {
    const Tap<A> z = Rule::template forward<A>(planes.axes[0], place.z, a);
    if (z.weight == A(0)) continue;
    for (int b = 0; b < Rule::taps; ++b) {
      const Tap<A> row = Rule::template forward<A>(planes.axes[1], place.y, b);
      if (row.weight == A(0)) continue;
      const T* const line =
          from + (std::int64_t{z.place} * planes.from_height + row.place) * planes.from_width;
      for (int c = 0; c < Rule::taps; ++c) {
        const Tap<A> column = Rule::template forward<A>(planes.axes[2], place.x, c);
        if (column.weight != A(0))
          sum += z.weight * row.weight * column.weight * A(value(line[column.place]));
      }
    }
  }
  y[n] = stored<T>(sum);
}

template <class T, ResizeKind kind>
__global__ void __launch_bounds__(threads_per_block)
    resize_gradients(ResizedPlanes planes, T* dx, const T* dy) {
  using A = Compute<T>;
  using Rule = ResizeRule<kind>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= planes.count) return;
  const ResizedPlanes::Place place = planes.place(n);
  const T* const from = dy + place.plane * planes.from_plane;
  const Reached zs = Rule::reached(planes.axes[0], place.z);
  const Reached ys = Rule::reached(planes.axes[1], place.y);
  const Reached xs = Rule::reached(planes.axes[2], place.x);
  A sum = 0;
  for (int z = zs.first; z < zs.end; ++z) {
    const A in_depth = Rule::template backward<A>(planes.axes[0], place.z, z);
    for (int y = ys.first; y < ys.end; ++y) {
      const T* const line = from + (std::int64_t{z} * planes.from_height + y) * planes.from_width;
      A of_line = 0;
      for (int x = xs.first; x < xs.end; ++x)
        of_line += Rule::template backward<A>(planes.axes[2], place.x, x) * A(value(line[x]));
      sum += in_depth * Rule::template backward<A>(planes.axes[1], place.y, y) * of_line;
    }
  }
  dx[n] = stored<T>(sum);
}

template <class F>
void with_kind(ResizeKind kind, const F& f) {
  switch (kind) {
    case ResizeKind::nearest: return f(std::integral_constant<ResizeKind, ResizeKind::nearest>{});
    case ResizeKind::linear: return f(std::integral_constant<ResizeKind, ResizeKind::linear>{});
    case ResizeKind::cubic: return f(std::integral_constant<ResizeKind, ResizeKind::cubic>{});
  }
}

}  // namespace

void resize(const ResizeRun& run, void* y, const void* x, cudaStream_t stream) {
  const ResizedPlanes planes(run, false);
  with_element_type(run.dtype, [&](auto element) {
    with_kind(run.kind, [&](auto kind) {
      using T = decltype(element);
      resize_planes<T, decltype(kind)::value>
          <<<blocks_for(planes.count), threads_per_block, 0, stream>>>(planes, static_cast<T*>(y),
                                                                       static_cast<const T*>(x));
    });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void resize_gradient(const ResizeRun& run, void* dx, const void* dy, cudaStream_t stream) {
  const ResizedPlanes planes(run, true);
  with_element_type(run.dtype, [&](auto element) {
    with_kind(run.kind, [&](auto kind) {
      using T = decltype(element);
      resize_gradients<T, decltype(kind)::value>
          <<<blocks_for(planes.count), threads_per_block, 0, stream>>>(planes, static_cast<T*>(dx),
                                                                       static_cast<const T*>(dy));
    });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
