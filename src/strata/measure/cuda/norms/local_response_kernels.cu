// SPDX-License-Identifier: Apache-2.0
// A thread walks along the channels of one place and keeps the window in registers, so that each
// number is read once. The channels of a place are cut into stretches where places are few.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/index_map.cuh"
#include "strata/measure/cuda/norms/normalization.cuh"
#include "strata/measure/engine/constants.hpp"

#include <algorithm>
#include <type_traits>

namespace strata::cuda::train {
namespace {

using training_constants::local_response_alpha;
using training_constants::local_response_beta;
using training_constants::local_response_k;

/// t^−β
template <class A>
__device__ A falling_power(A t) {
  static_assert(local_response_beta == 0.75, "computed by roots");
  const A root = rsqrt(t);
  return root * root * rsqrt(root);
}

/// Which channels of which place a thread takes.
struct Stretches {
  FastDivisor inner, per_sample;
  int length, channels;
  std::uint32_t count;

  Stretches(const ChannelArray& array, std::int64_t enough_threads)
      : inner(static_cast<std::uint32_t>(array.inner)),
        length(static_cast<int>(array.channels)),
        channels(static_cast<int>(array.channels)) {
    constexpr int shortest = 16;  // as windows reach beyond its ends
    const std::int64_t places = array.rows * array.inner;
    const auto wanted =
        static_cast<int>(std::min<std::int64_t>((enough_threads + places - 1) / places, channels));
    length = std::max((channels + wanted - 1) / wanted, std::min(shortest, channels));
    per_sample = FastDivisor(static_cast<std::uint32_t>((channels + length - 1) / length));
    count = static_cast<std::uint32_t>(places) * per_sample.divisor;
  }

  struct Stretch {
    std::int64_t origin;  ///< the place in channel 0
    int begin, end;
  };
  __device__ Stretch stretch(std::uint32_t n) const {
    const std::uint32_t line = inner.quotient(n), sample = per_sample.quotient(line);
    const int begin = static_cast<int>(line - sample * per_sample.divisor) * length;
    return {std::int64_t{sample} * channels * inner.divisor + (n - line * inner.divisor), begin,
            begin + length < channels ? begin + length : channels};
  }
};

/// The numbers of `size` neighbouring channels; the oldest gives its place to the next. Steps are
/// counted by whoever unrolls them, so that all stay in registers.
template <class A, int size>
struct Ring {
  A items[size] = {};
  __device__ void put(int step, A x) { items[(step + size - 1) % size] = x; }
  __device__ A middle(int step) const { return items[(step + size / 2) % size]; }
  __device__ A sum() const {
    A total = 0;
#pragma unroll
    for (int i = 0; i < size; ++i) total += items[i];
    return total;
  }
};

/// The next `size` channels of an array, asked for while those before are looked at.
template <class T, int size>
struct Ahead {
  using A = Compute<T>;
  A items[size];
  __device__ void load(const T* data, const Stretches& stretches, std::int64_t origin,
                       int channel) {
    const T* const from = data + origin + std::int64_t{channel} * stretches.inner.divisor;
#pragma unroll
    for (int k = 0; k < size; ++k) {
      const bool is_there = channel + k >= 0 && channel + k < stretches.channels;
      items[k] = is_there ? A(value(from[k * stretches.inner.divisor])) : A(0);
    }
  }
};

template <class T, int size>
__global__ void __launch_bounds__(threads_per_block)
    local_response(Stretches stretches, T* y, T* scale, const T* x) {
  using A = Compute<T>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= stretches.count) return;
  const Stretches::Stretch mine = stretches.stretch(n);
  constexpr int reach = size / 2;
  Ahead<T, size> before, next;
  before.load(x, stretches, mine.origin, mine.begin - reach);  // the last is not used
  next.load(x, stretches, mine.origin, mine.begin + reach);
  Ring<A, size> numbers, squares;
#pragma unroll
  for (int k = 0; k < size - 1; ++k) {
    numbers.put(k + 1, before.items[k]);
    squares.put(k + 1, before.items[k] * before.items[k]);
  }
  for (int channel = mine.begin; channel < mine.end; channel += size) {
    const Ahead<T, size> now = next;
    next.load(x, stretches, mine.origin, channel + size + reach);
#pragma unroll
    for (int k = 0; k < size; ++k) {
      numbers.put(k, now.items[k]);
      squares.put(k, now.items[k] * now.items[k]);
      if (channel + k >= mine.end) continue;
      const A t = A(local_response_k) + A(local_response_alpha / size) * squares.sum();
      const std::int64_t at = mine.origin + std::int64_t{channel + k} * stretches.inner.divisor;
      scale[at] = stored<T>(t);
      y[at] = stored<T>(numbers.middle(k) * falling_power(t));
    }
  }
}

template <class T, int size>
__global__ void __launch_bounds__(threads_per_block)
    local_response_gradient(Stretches stretches, T* dx, const T* dy, const T* x, const T* y,
                            const T* scale) {
  using A = Compute<T>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= stretches.count) return;
  const Stretches::Stretch mine = stretches.stretch(n);
  constexpr int reach = size / 2;
  constexpr A factor = A(2 * local_response_alpha * local_response_beta / size);
  Ring<A, size> gradients, powers, ratios;
  // A channel that is not there has dy and y of 0, and a scale of 0 that must not divide.
  const auto put = [&](int step, A d, A out, A t) {
    const A inverse = t > A(0) ? A(1) / t : A(0);
    gradients.put(step, d);
    powers.put(step, t > A(0) ? falling_power(t) : A(0));
    ratios.put(step, d * out * inverse);
  };
  Ahead<T, size> next_dy, next_y, next_scale, next_x;
  next_dy.load(dy, stretches, mine.origin, mine.begin - reach);
  next_y.load(y, stretches, mine.origin, mine.begin - reach);
  next_scale.load(scale, stretches, mine.origin, mine.begin - reach);
#pragma unroll
  for (int k = 0; k < size - 1; ++k)
    put(k + 1, next_dy.items[k], next_y.items[k], next_scale.items[k]);
  for (int channel = mine.begin; channel < mine.end; channel += size) {
    next_dy.load(dy, stretches, mine.origin, channel + reach);
    next_y.load(y, stretches, mine.origin, channel + reach);
    next_scale.load(scale, stretches, mine.origin, channel + reach);
    next_x.load(x, stretches, mine.origin, channel);
#pragma unroll
    for (int k = 0; k < size; ++k) {
      put(k, next_dy.items[k], next_y.items[k], next_scale.items[k]);
      if (channel + k >= mine.end) continue;
      dx[mine.origin + std::int64_t{channel + k} * stretches.inner.divisor] = stored<T>(
          gradients.middle(k) * powers.middle(k) - factor * next_x.items[k] * ratios.sum());
    }
  }
}

// Windows of any size read all of it for every number.

struct AnyWindow {
  ChannelArray array;
  FastDivisor inner, channels;
  int size;

  __device__ int channel_of(std::int64_t i) const {
    const std::uint32_t plane = inner.quotient(static_cast<std::uint32_t>(i));
    return static_cast<int>(plane - channels.quotient(plane) * channels.divisor);
  }
};

template <class T>
__global__ void any_local_response(AnyWindow window, T* y, T* scale, const T* x) {
  using A = Compute<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= window.array.count()) return;
  const int channel = window.channel_of(i);
  A sum = 0;
  for (int j = 0; j < window.size; ++j) {
    const int neighbour = channel + j - window.size / 2;
    if (neighbour < 0 || neighbour >= window.array.channels) continue;
    const A v = value(x[i + (neighbour - channel) * window.array.inner]);
    sum += v * v;
  }
  const A t = A(local_response_k) + A(local_response_alpha) / A(window.size) * sum;
  scale[i] = stored<T>(t);
  y[i] = stored<T>(A(value(x[i])) * falling_power(t));
}

template <class T>
__global__ void any_local_response_gradient(AnyWindow window, T* dx, const T* dy, const T* x,
                                            const T* y, const T* scale) {
  using A = Compute<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= window.array.count()) return;
  const int channel = window.channel_of(i);
  A sum = 0;
  for (int j = 0; j < window.size; ++j) {
    // The windows that hold this channel, mirrored.
    const int neighbour = channel - j + window.size / 2;
    if (neighbour < 0 || neighbour >= window.array.channels) continue;
    const std::int64_t at = i + (neighbour - channel) * window.array.inner;
    sum += A(value(dy[at])) * A(value(y[at])) / A(value(scale[at]));
  }
  const A factor = A(2 * local_response_alpha * local_response_beta) / A(window.size);
  dx[i] = stored<T>(A(value(dy[i])) * falling_power(A(value(scale[i]))) -
                    factor * A(value(x[i])) * sum);
}

/// Calls f with the size where kernels are compiled for it; else false.
template <class F>
bool with_known_size(std::int64_t size, const F& f) {
  switch (size) {
    case 3: f(std::integral_constant<int, 3>{}); return true;
    case 5: f(std::integral_constant<int, 5>{}); return true;
    case 7: f(std::integral_constant<int, 7>{}); return true;
    default: return false;
  }
}

AnyWindow any_window(const ChannelArray& array, std::int64_t size) {
  return {array, FastDivisor(static_cast<std::uint32_t>(array.inner)),
          FastDivisor(static_cast<std::uint32_t>(array.channels)), static_cast<int>(size)};
}

}  // namespace

void local_response_norm(const ChannelArray& array, std::int64_t size, void* y, void* scale,
                         const void* x, cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    auto *const to = static_cast<T*>(y), *const scales = static_cast<T*>(scale);
    const auto* const from = static_cast<const T*>(x);
    const bool is_known = with_known_size(size, [&](auto window) {
      const Stretches stretches(array, 1 << 20);
      local_response<T, window.value>
          <<<blocks_for(stretches.count), threads_per_block, 0, stream>>>(stretches, to, scales,
                                                                          from);
    });
    if (!is_known) {
      any_local_response<<<blocks_for(array.count()), threads_per_block, 0, stream>>>(
          any_window(array, size), to, scales, from);
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void local_response_norm_gradient(const ChannelArray& array, std::int64_t size, void* dx,
                                  const void* dy, const void* x, const void* y, const void* scale,
                                  cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    auto* const to = static_cast<T*>(dx);
    const auto *const gradient = static_cast<const T*>(dy), *const in = static_cast<const T*>(x);
    const auto *const out = static_cast<const T*>(y), *const scales = static_cast<const T*>(scale);
    const bool is_known = with_known_size(size, [&](auto window) {
      const Stretches stretches(array, 1 << 18);  // each asks for more at once
      local_response_gradient<T, window.value>
          <<<blocks_for(stretches.count), threads_per_block, 0, stream>>>(stretches, to, gradient,
                                                                          in, out, scales);
    });
    if (!is_known) {
      any_local_response_gradient<<<blocks_for(array.count()), threads_per_block, 0, stream>>>(
          any_window(array, size), to, gradient, in, out, scales);
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
