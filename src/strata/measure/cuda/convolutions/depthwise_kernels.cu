// SPDX-License-Identifier: Apache-2.0
// Bound by memory: nine products per number read are nothing. The window is a template parameter
// so that its weights stay in registers, and a thread makes four neighbours, which share most of
// what they read.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/convolutions/own_convolutions.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/index_map.cuh"

#include <algorithm>

namespace strata::cuda::train {
namespace {

constexpr int run_length = 4;  ///< neighbours that a thread makes

struct Plane {
  int channels, in_height, in_width, out_height, out_width, pad_y, pad_x;

  explicit Plane(const ConvRequest& r)
      : channels(static_cast<int>(r.channels)),
        in_height(r.in[1]),
        in_width(r.in[2]),
        out_height(r.out[1]),
        out_width(r.out[2]),
        pad_y(r.pad_begin[1]),
        pad_x(r.pad_begin[2]) {}
};

/// Thread number → plane, row and run of four.
struct Runs {
  FastDivisor runs, rows, channels;
  std::int64_t count;
  Runs(std::int64_t planes, int channels_, int height, int width)
      : runs(static_cast<std::uint32_t>((width + run_length - 1) / run_length)),
        rows(static_cast<std::uint32_t>(height)),
        channels(static_cast<std::uint32_t>(channels_)),
        count(planes * height * ((width + run_length - 1) / run_length)) {}
  __device__ bool split(std::uint32_t& plane, int& channel, int& y, int& x) const {
    const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (n >= count) return false;
    const std::uint32_t row = runs.quotient(static_cast<std::uint32_t>(n));
    x = run_length * static_cast<int>(static_cast<std::uint32_t>(n) - row * runs.divisor);
    plane = rows.quotient(row);
    y = static_cast<int>(row - plane * rows.divisor);
    channel = static_cast<int>(plane - channels.quotient(plane) * channels.divisor);
    return true;
  }
};

template <class T, int K, int S>
__global__ void __launch_bounds__(threads_per_block)
    depthwise_forward(Plane p, Runs runs, T* out, const T* in, const T* weights) {
  using A = Compute<T>;
  std::uint32_t plane;
  int channel, oy, ox;
  if (!runs.split(plane, channel, oy, ox)) return;
  const T* const from = in + std::int64_t{plane} * p.in_height * p.in_width;
  constexpr int columns = (run_length - 1) * S + K;
  A sum[run_length] = {};
#pragma unroll
  for (int ky = 0; ky < K; ++ky) {
    const int y = oy * S + ky - p.pad_y;
    if (y < 0 || y >= p.in_height) continue;
    A line[columns];
#pragma unroll
    for (int i = 0; i < columns; ++i) {
      const int x = ox * S + i - p.pad_x;
      line[i] = x >= 0 && x < p.in_width ? A(value(from[y * p.in_width + x])) : A(0);
    }
#pragma unroll
    for (int kx = 0; kx < K; ++kx) {
      const A w = value(weights[(channel * K + ky) * K + kx]);
#pragma unroll
      for (int i = 0; i < run_length; ++i) sum[i] += w * line[i * S + kx];
    }
  }
  T* const to = out + (std::int64_t{plane} * p.out_height + oy) * p.out_width + ox;
#pragma unroll
  for (int i = 0; i < run_length; ++i) {
    if (ox + i < p.out_width) to[i] = stored<T>(sum[i]);
  }
}

/// Input p is met by output (p + pad − k) / S where that is whole.
template <class T, int K, int S>
__global__ void __launch_bounds__(threads_per_block)
    depthwise_input_gradient(Plane p, Runs runs, T* dx, const T* dy, const T* weights) {
  using A = Compute<T>;
  std::uint32_t plane;
  int channel, py, px;
  if (!runs.split(plane, channel, py, px)) return;
  const T* const from = dy + std::int64_t{plane} * p.out_height * p.out_width;
  A sum[run_length] = {};
#pragma unroll
  for (int ky = 0; ky < K; ++ky) {
    const int sy = py + p.pad_y - ky;
    if (sy < 0 || sy % S != 0 || sy / S >= p.out_height) continue;
    const T* const row = from + (sy / S) * p.out_width;
#pragma unroll
    for (int kx = 0; kx < K; ++kx) {
      const A w = value(weights[(channel * K + ky) * K + kx]);
#pragma unroll
      for (int i = 0; i < run_length; ++i) {
        const int sx = px + i + p.pad_x - kx;
        if (sx >= 0 && sx % S == 0 && sx / S < p.out_width) sum[i] += w * A(value(row[sx / S]));
      }
    }
  }
  T* const to = dx + (std::int64_t{plane} * p.in_height + py) * p.in_width + px;
#pragma unroll
  for (int i = 0; i < run_length; ++i) {
    if (px + i < p.in_width) to[i] = stored<T>(sum[i]);
  }
}

/// Block (channel, split of the batch); partial sums [channel][split][K × K].
template <class T, int K, int S>
__global__ void __launch_bounds__(threads_per_block)
    depthwise_weight_gradient(Plane p, FastDivisor width, int batch, Compute<T>* partials,
                              const T* x, const T* dy) {
  using A = Compute<T>;
  const int channel = static_cast<int>(blockIdx.x);
  const int out_plane = p.out_height * p.out_width;
  A sum[K * K] = {};
  for (int sample = static_cast<int>(blockIdx.y); sample < batch;
       sample += static_cast<int>(gridDim.y)) {
    const std::int64_t plane = std::int64_t{sample} * p.channels + channel;
    const T* const in = x + plane * p.in_height * p.in_width;
    const T* const out = dy + plane * out_plane;
    for (int i = static_cast<int>(threadIdx.x); i < out_plane; i += threads_per_block) {
      const int oy = static_cast<int>(width.quotient(static_cast<std::uint32_t>(i)));
      const int ox = i - oy * p.out_width;
      const A d = value(out[i]);
#pragma unroll
      for (int ky = 0; ky < K; ++ky) {
        const int iy = oy * S + ky - p.pad_y;
        if (iy < 0 || iy >= p.in_height) continue;
#pragma unroll
        for (int kx = 0; kx < K; ++kx) {
          const int ix = ox * S + kx - p.pad_x;
          if (ix >= 0 && ix < p.in_width)
            sum[ky * K + kx] += d * A(value(in[iy * p.in_width + ix]));
        }
      }
    }
  }
  A* const to = partials + (std::int64_t{channel} * gridDim.y + blockIdx.y) * K * K;
  for (int k = 0; k < K * K; ++k) {
    const A whole = sum_over_block(sum[k]);
    if (threadIdx.x == 0) to[k] = whole;
  }
}

template <class T>
__global__ void add_partials(T* dw, const Compute<T>* partials, std::int64_t weights, int window,
                             int splits) {
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= weights) return;
  const std::int64_t channel = n / window, k = n % window;
  Compute<T> sum = 0;
  for (int i = 0; i < splits; ++i) sum += partials[(channel * splits + i) * window + k];
  dw[n] = stored<T>(sum);
}

int batch_splits(const ConvRequest& request) {
  constexpr std::int64_t enough_blocks = 1056;
  return static_cast<int>(std::clamp<std::int64_t>(enough_blocks / request.channels, 1,
                                                   std::min<std::int64_t>(request.batch, 64)));
}

template <class T, int K, int S>
void launch(const ConvRequest& r, const void* input, const void* weights, const void* output,
            void* result, void* scratch, cudaStream_t stream) {
  const Plane plane(r);
  const std::int64_t planes = r.batch * r.channels;
  const auto* const w = static_cast<const T*>(weights);
  auto* const to = static_cast<T*>(result);
  if (r.pass == RequestPass::forward) {
    const Runs runs(planes, plane.channels, plane.out_height, plane.out_width);
    depthwise_forward<T, K, S><<<blocks_for(runs.count), threads_per_block, 0, stream>>>(
        plane, runs, to, static_cast<const T*>(input), w);
  } else if (r.pass == RequestPass::input_gradient) {
    const Runs runs(planes, plane.channels, plane.in_height, plane.in_width);
    depthwise_input_gradient<T, K, S><<<blocks_for(runs.count), threads_per_block, 0, stream>>>(
        plane, runs, to, static_cast<const T*>(output), w);
  } else {
    auto* const partials = static_cast<Compute<T>*>(scratch);
    const int splits = batch_splits(r);
    depthwise_weight_gradient<T, K, S>
        <<<dim3(static_cast<unsigned>(r.channels), static_cast<unsigned>(splits)),
           threads_per_block, 0, stream>>>(
            plane, FastDivisor(static_cast<std::uint32_t>(plane.out_width)),
            static_cast<int>(r.batch), partials, static_cast<const T*>(input),
            static_cast<const T*>(output));
    add_partials<<<blocks_for(r.channels * K * K), threads_per_block, 0, stream>>>(
        to, partials, r.channels * K * K, K * K, splits);
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace

std::int64_t depthwise_scratch_bytes(const ConvRequest& request) {
  if (request.pass != RequestPass::weight_gradient) return 0;
  const std::int64_t bytes = request.dtype == DType::fp64 ? 8 : 4;
  return bytes * request.channels * batch_splits(request) * request.window();
}

void depthwise_convolution(const ConvRequest& request, const void* input, const void* weights,
                           const void* output, void* result, void* scratch, cudaStream_t stream) {
  with_element_type(request.dtype, [&](auto element) {
    using T = decltype(element);
    const auto run = [&](auto kernel, auto stride) {
      launch<T, kernel.value, stride.value>(request, input, weights, output, result, scratch,
                                            stream);
    };
    const auto with_stride = [&](auto kernel) {
      if (request.stride[1] == 1) {
        run(kernel, std::integral_constant<int, 1>{});
      } else {
        run(kernel, std::integral_constant<int, 2>{});
      }
    };
    switch (request.kernel[1]) {
      case 3: return with_stride(std::integral_constant<int, 3>{});
      case 5: return with_stride(std::integral_constant<int, 5>{});
      default: return with_stride(std::integral_constant<int, 7>{});
    }
  });
}

}  // namespace strata::cuda::train
