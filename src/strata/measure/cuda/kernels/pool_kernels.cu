// SPDX-License-Identifier: Apache-2.0
// Every result gathers its window, and every gradient the windows that hold it: nothing is added
// atomically, so that results do not change from run to run.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/index_map.cuh"
#include "strata/measure/cuda/kernels/pool.cuh"

namespace strata::cuda::train {
namespace {

/// A result's window along one axis: `count` places from `first`, `step` apart; some may lie in the
/// padding.
struct Window {
  int first, count, step;
};

__device__ Window window_of(const PoolRun& run, int axis, int o) {
  if (run.is_adaptive) {
    const int in = run.in[axis], out = run.out[axis];
    const int begin = static_cast<int>(std::int64_t{o} * in / out);
    const int end = static_cast<int>(((std::int64_t{o} + 1) * in + out - 1) / out);
    return {begin, end - begin, 1};
  }
  return {o * run.stride[axis] - run.pad[axis], run.kernel[axis], run.dilation[axis]};
}

/// Of a window's places along one axis, those that lie inside: the first, and one past the last.
struct Clipped {
  int begin, end;
};
__device__ Clipped clipped(const Window& window, int extent) {
  const int step = window.step;
  const int begin =
      window.first < 0 ? (step == 1 ? -window.first : (step - 1 - window.first) / step) : 0;
  const int room = extent - 1 - window.first;  // from the first place to the last inside
  const int most = room < 0 ? 0 : (step == 1 ? room : room / step) + 1;
  return {begin, most < window.count ? most : window.count};
}

/// How many places of the window count in an average.
__device__ int divisor_of(const PoolRun& run, const int* o) {
  int divisor = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const Window window = window_of(run, axis, o[axis]);
    if (run.counts_padding) {
      divisor *= window.count;
    } else {
      const Clipped inside = clipped(window, run.in[axis]);
      divisor *= inside.end - inside.begin;
    }
  }
  return divisor;
}

struct Planes {
  FastDivisor plane, row, column;  ///< extents of all three axes, of the last two, of the last
  explicit Planes(const int* extents)
      : plane(static_cast<std::uint32_t>(extents[0]) * extents[1] * extents[2]),
        row(static_cast<std::uint32_t>(extents[1]) * extents[2]),
        column(static_cast<std::uint32_t>(extents[2])) {}
  /// The plane, and where in it.
  __device__ std::int64_t split(std::uint32_t n, int* at) const {
    const std::uint32_t number = plane.quotient(n);
    n -= number * plane.divisor;
    const std::uint32_t z = row.quotient(n);
    n -= z * row.divisor;
    const std::uint32_t y = column.quotient(n);
    at[0] = static_cast<int>(z);
    at[1] = static_cast<int>(y);
    at[2] = static_cast<int>(n - y * column.divisor);
    return number;
  }
};

template <class T, bool is_maximum>
__global__ void gather_windows(PoolRun run, Planes out, T* y, std::int32_t* argmax, const T* x,
                               std::int64_t count) {
  using A = Compute<T>;
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= count) return;
  int o[3];
  const std::int64_t plane = out.split(static_cast<std::uint32_t>(n), o);
  const T* const in = x + plane * run.in_plane();
  const Window wz = window_of(run, 0, o[0]), wy = window_of(run, 1, o[1]),
               wx = window_of(run, 2, o[2]);
  const Clipped cz = clipped(wz, run.in[0]), cy = clipped(wy, run.in[1]),
                cx = clipped(wx, run.in[2]);
  A result = is_maximum ? A(-INFINITY) : A(0);
  int best = 0;
  for (int kz = cz.begin; kz < cz.end; ++kz) {
    const int z = wz.first + kz * wz.step;
    for (int ky = cy.begin; ky < cy.end; ++ky) {
      const int line = (z * run.in[1] + wy.first + ky * wy.step) * run.in[2] + wx.first;
      for (int kx = cx.begin; kx < cx.end; ++kx) {
        const int at = line + kx * wx.step;
        const A v = value(in[at]);
        if (!is_maximum) {
          result += v;
        } else if (v > result) {
          result = v;
          best = at;
        }
      }
    }
  }
  if (is_maximum) {
    if (argmax != nullptr) argmax[n] = best;
  } else {
    result /= A(divisor_of(run, o));
  }
  y[n] = stored<T>(result);
}

/// The results whose window holds place `at` along one axis: of `first` … `last`, those for which
/// holds() is true.
struct Holders {
  int first, last;
};

__device__ Holders holders_of(const PoolRun& run, int axis, int at) {
  const int in = run.in[axis], out = run.out[axis];
  if (run.is_adaptive) {
    const int first = static_cast<int>(std::int64_t{at} * out / in);
    const int last = static_cast<int>(((std::int64_t{at} + 1) * out + in - 1) / in) - 1;
    return {first, last < out - 1 ? last : out - 1};
  }
  const int reach = (run.kernel[axis] - 1) * run.dilation[axis], stride = run.stride[axis];
  const int from = at + run.pad[axis] - reach;
  const int first = from > 0 ? (from + stride - 1) / stride : 0;
  const int last = (at + run.pad[axis]) / stride;
  return {first, last < out - 1 ? last : out - 1};
}

__device__ bool holds(const PoolRun& run, int axis, int o, int at) {
  return run.is_adaptive || (at + run.pad[axis] - o * run.stride[axis]) % run.dilation[axis] == 0;
}

template <class T, bool is_maximum>
__global__ void gather_gradients(PoolRun run, Planes in, T* dx, const T* dy,
                                 const std::int32_t* argmax, std::int64_t count) {
  using A = Compute<T>;
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= count) return;
  int at[3];
  const std::int64_t plane = in.split(static_cast<std::uint32_t>(n), at);
  const std::int64_t base = plane * run.out_plane();
  const int mine = (at[0] * run.in[1] + at[1]) * run.in[2] + at[2];
  const Holders hz = holders_of(run, 0, at[0]), hy = holders_of(run, 1, at[1]),
                hx = holders_of(run, 2, at[2]);
  A sum = 0;
  for (int z = hz.first; z <= hz.last; ++z) {
    for (int y = hy.first; y <= hy.last; ++y) {
      for (int x = hx.first; x <= hx.last; ++x) {
        const std::int64_t o = base + (z * run.out[1] + y) * run.out[2] + x;
        if (is_maximum) {
          if (argmax[o] == mine) sum += A(value(dy[o]));
        } else if (holds(run, 0, z, at[0]) && holds(run, 1, y, at[1]) && holds(run, 2, x, at[2])) {
          const int place[3] = {z, y, x};
          sum += A(value(dy[o])) / A(divisor_of(run, place));
        }
      }
    }
  }
  dx[n] = stored<T>(sum);
}

}  // namespace

void pool(const PoolRun& run, void* y, std::int32_t* argmax, const void* x, cudaStream_t stream) {
  const std::int64_t count = run.planes * run.out_plane();
  const Planes out(run.out);
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    auto* const to = static_cast<T*>(y);
    const auto* const from = static_cast<const T*>(x);
    if (run.kind == PoolKind::maximum) {
      gather_windows<T, true>
          <<<blocks_for(count), threads_per_block, 0, stream>>>(run, out, to, argmax, from, count);
    } else {
      gather_windows<T, false>
          <<<blocks_for(count), threads_per_block, 0, stream>>>(run, out, to, nullptr, from, count);
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void pool_gradient(const PoolRun& run, void* dx, const void* dy, const std::int32_t* argmax,
                   cudaStream_t stream) {
  const std::int64_t count = run.planes * run.in_plane();
  const Planes in(run.in);
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    auto* const to = static_cast<T*>(dx);
    const auto* const from = static_cast<const T*>(dy);
    if (run.kind == PoolKind::maximum) {
      gather_gradients<T, true>
          <<<blocks_for(count), threads_per_block, 0, stream>>>(run, in, to, from, argmax, count);
    } else {
      gather_gradients<T, false>
          <<<blocks_for(count), threads_per_block, 0, stream>>>(run, in, to, from, nullptr, count);
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
