// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/moving/movement.cuh"
#include "strata/measure/cuda/moving/resize_by_two.cuh"
#include "strata/measure/cuda/moving/resize_taps.cuh"

#include <algorithm>
#include <type_traits>

namespace strata::cuda::train {
namespace {

/// A thread makes the same number of so many planes, as places and weights are the same in all.
constexpr int planes_each = 8;

/// Planes of three axes, the innermost last, each number of which is a sum over another plane.
struct Gathered {
  ResizeAxis axes[3];
  FastDivisor height, width;  ///< of the result
  FastDivisor plane;
  int from_height, from_width;
  std::int64_t from_plane;
  std::uint32_t planes, part;  ///< all of them, and how many there are from one to a thread's next

  Gathered(const ResizeRun& run, bool is_backward) {
    const int(&to)[3] = is_backward ? run.in : run.out;
    const int(&from)[3] = is_backward ? run.out : run.in;
    for (int axis = 0; axis < 3; ++axis) axes[axis] = ResizeAxis(run.in[axis], run.out[axis]);
    height = FastDivisor(static_cast<std::uint32_t>(to[1]));
    width = FastDivisor(static_cast<std::uint32_t>(to[2]));
    plane = FastDivisor(static_cast<std::uint32_t>(to[0]) * height.divisor * width.divisor);
    from_height = from[1];
    from_width = from[2];
    from_plane = std::int64_t{from[0]} * from[1] * from[2];
    planes = static_cast<std::uint32_t>(run.planes);
    part = (planes + planes_each - 1) / planes_each;
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

/// The taps of one place of the result, along one axis.
template <ResizeKind kind>
struct Forward {
  static constexpr int most = ResizeRule<kind>::taps;
  const ResizeAxis& axis;
  int o;

  __device__ Forward(const ResizeAxis& along, int at) : axis(along), o(at) {}
  template <class A>
  __device__ Tap<A> tap(int k) const {
    return ResizeRule<kind>::template forward<A>(axis, o, k);
  }
};
/// Where no place reaches more results than that.
template <ResizeKind kind, int most_reached>
struct Backward {
  static constexpr int most = most_reached;
  using Rule = ResizeRule<kind>;
  const ResizeAxis& axis;
  int i;
  Reached reached;

  __device__ Backward(const ResizeAxis& along, int at)
      : axis(along), i(at), reached(Rule::reached(along, at)) {}
  template <class A>
  __device__ Tap<A> tap(int k) const {
    const int o = reached.first + k;
    if (o >= reached.end) return {0, A(0)};
    return {o, Rule::template backward<A>(axis, i, o)};
  }
};

template <class A, class Way>
struct Taps {
  Tap<A> tap[Way::most];

  __device__ Taps(const ResizeAxis& axis, int at) {
    const Way way(axis, at);
#pragma unroll
    for (int k = 0; k < Way::most; ++k) tap[k] = way.template tap<A>(k);
  }
};

/// Adds to `sums` what planes, so many of them from the first one on, have in a layer of theirs.
/// All is asked for before anything is added, and without a question whether it is there: the last
/// plane stands for those that are missing, and what weighs nothing is not added.
template <class T, class A, class Way, int count>
__device__ void add_layer(const Gathered& gathered, const T* from, std::uint32_t first_plane,
                          Tap<A> layer, const Taps<A, Way>& ys, const Taps<A, Way>& xs,
                          A (&sums)[count]) {
  constexpr int most = Way::most;
  A numbers[count][most][most];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const std::uint32_t plane = min(first_plane + i * gathered.part, gathered.planes - 1);
    const T* const of_layer = from + plane * gathered.from_plane +
                              layer.place * gathered.from_height * gathered.from_width;
#pragma unroll
    for (int b = 0; b < most; ++b) {
#pragma unroll
      for (int c = 0; c < most; ++c)
        numbers[i][b][c] = value(of_layer[ys.tap[b].place * gathered.from_width + xs.tap[c].place]);
    }
  }
#pragma unroll
  for (int i = 0; i < count; ++i) {
#pragma unroll
    for (int b = 0; b < most; ++b) {
      A of_line = 0;
#pragma unroll
      for (int c = 0; c < most; ++c) {
        if (xs.tap[c].weight != A(0)) of_line += xs.tap[c].weight * numbers[i][b][c];
      }
      if (ys.tap[b].weight != A(0)) sums[i] += layer.weight * ys.tap[b].weight * of_line;
    }
  }
}

/// Two blocks at least, so that the registers of sixteen numbers are not given up for more of them.
template <class T, class Way>
__global__ void __launch_bounds__(threads_per_block, 2)
    gather_taps(Gathered gathered, T* to, const T* from) {
  using A = Compute<T>;
  constexpr int at_once = Way::most == 1 ? 8 : (Way::most == 2 ? 4 : 1);
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= gathered.part * gathered.plane.divisor) return;
  const Gathered::Place place = gathered.place(n);
  const Taps<A, Way> ys(gathered.axes[1], place.y), xs(gathered.axes[2], place.x);
  const Way zs(gathered.axes[0], place.z);
  const int layers = gathered.axes[0].in == gathered.axes[0].out ? 1 : Way::most;
#pragma unroll 1
  for (int first = 0; first < planes_each; first += at_once) {
    A sums[at_once] = {};
#pragma unroll 1
    for (int k = 0; k < layers; ++k) {
      const Tap<A> layer = zs.template tap<A>(k);
      if (layer.weight != A(0))
        add_layer(gathered, from, place.plane + first * gathered.part, layer, ys, xs, sums);
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const std::uint32_t step = (first + i) * gathered.part;
      if (place.plane + step < gathered.planes)
        to[n + std::int64_t{step} * gathered.plane.divisor] = stored<T>(sums[i]);
    }
  }
}

/// Places of x that reach many results: so many lanes of a warp share those of a line.
template <class T, ResizeKind kind, int lanes>
__global__ void __launch_bounds__(threads_per_block)
    gather_reached(Gathered gathered, T* dx, const T* dy) {
  using A = Compute<T>;
  using Rule = ResizeRule<kind>;
  constexpr int ahead = kind == ResizeKind::cubic ? 1 : 4;
  const std::uint32_t n = blockIdx.x * (threads_per_block / lanes) + threadIdx.x / lanes;
  const int lane = static_cast<int>(threadIdx.x % lanes);
  if (n >= gathered.planes * gathered.plane.divisor) return;
  const Gathered::Place place = gathered.place(n);
  const T* const plane = dy + place.plane * gathered.from_plane;
  const Reached zs = Rule::reached(gathered.axes[0], place.z);
  const Reached ys = Rule::reached(gathered.axes[1], place.y);
  const Reached xs = Rule::reached(gathered.axes[2], place.x);
  A sum = 0;
  for (int z = zs.first; z < zs.end; ++z) {
    const A in_depth = Rule::template backward<A>(gathered.axes[0], place.z, z);
    for (int y = ys.first; y < ys.end; ++y) {
      const T* const line = plane + (z * gathered.from_height + y) * gathered.from_width;
      A of_line = 0;
#pragma unroll ahead
      for (int x = xs.first + lane; x < xs.end; x += lanes)
        of_line += Rule::template backward<A>(gathered.axes[2], place.x, x) * A(value(line[x]));
      sum += in_depth * Rule::template backward<A>(gathered.axes[1], place.y, y) * of_line;
    }
  }
#pragma unroll
  for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0) dx[n] = stored<T>(sum);
}

// --- launches ------------------------------------------------------------------------------------

template <class F>
void with_kind(ResizeKind kind, const F& f) {
  switch (kind) {
    case ResizeKind::nearest: return f(std::integral_constant<ResizeKind, ResizeKind::nearest>{});
    case ResizeKind::linear: return f(std::integral_constant<ResizeKind, ResizeKind::linear>{});
    case ResizeKind::cubic: return f(std::integral_constant<ResizeKind, ResizeKind::cubic>{});
  }
}

template <class T, class Way>
void launch_taps(const Gathered& gathered, T* to, const T* from, cudaStream_t stream) {
  const std::int64_t threads = std::int64_t{gathered.part} * gathered.plane.divisor;
  gather_taps<T, Way><<<blocks_for(threads), threads_per_block, 0, stream>>>(gathered, to, from);
}

template <class T, ResizeKind kind, int lanes>
void launch_reached(const Gathered& gathered, T* dx, const T* dy, cudaStream_t stream) {
  const std::int64_t places = std::int64_t{gathered.planes} * gathered.plane.divisor;
  gather_reached<T, kind, lanes>
      <<<blocks_for(places, threads_per_block / lanes), threads_per_block, 0, stream>>>(gathered,
                                                                                        dx, dy);
}

template <class T, ResizeKind kind>
void gather_gradient(const ResizeRun& run, T* dx, const T* dy, cudaStream_t stream) {
  constexpr int many = 16;  // in a line
  const Gathered gathered(run, true);
  int most = 0;
  for (const ResizeAxis& axis : gathered.axes)
    most = std::max(most, ResizeRule<kind>::most_reached(axis));
  if constexpr (kind == ResizeKind::nearest) {
    if (most <= 2) return launch_taps<T, Backward<kind, 2>>(gathered, dx, dy, stream);
  }
  if (most <= 4) return launch_taps<T, Backward<kind, 4>>(gathered, dx, dy, stream);
  ResizeRule<kind>::most_reached(gathered.axes[2]) >= many
      ? launch_reached<T, kind, 32>(gathered, dx, dy, stream)
      : launch_reached<T, kind, 1>(gathered, dx, dy, stream);
}

}  // namespace

void resize(const ResizeRun& run, void* y, const void* x, cudaStream_t stream) {
  if (can_resize_by_two(run, x, y)) return resize_by_two(run, y, x, stream);
  with_element_type(run.dtype, [&](auto element) {
    with_kind(run.kind, [&](auto kind) {
      using T = decltype(element);
      launch_taps<T, Forward<kind.value>>(Gathered(run, false), static_cast<T*>(y),
                                          static_cast<const T*>(x), stream);
    });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void resize_gradient(const ResizeRun& run, void* dx, const void* dy, cudaStream_t stream) {
  if (can_resize_by_two(run, dx, dy)) return resize_by_two_gradient(run, dx, dy, stream);
  with_element_type(run.dtype, [&](auto element) {
    with_kind(run.kind, [&](auto kind) {
      using T = decltype(element);
      gather_gradient<T, kind.value>(run, static_cast<T*>(dx), static_cast<const T*>(dy), stream);
    });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
