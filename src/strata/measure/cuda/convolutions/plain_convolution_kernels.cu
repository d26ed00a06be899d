// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/convolutions/own_convolutions.cuh"
#include "strata/measure/cuda/element.cuh"

namespace strata::cuda::train {
namespace {

/// The request as a kernel takes it.
struct Window3 {
  std::int64_t batch, channels, filters, group_channels, group_filters;
  int in[3], out[3], kernel[3], stride[3], dilation[3], pad[3];

  explicit Window3(const ConvRequest& r)
      : batch(r.batch),
        channels(r.channels),
        filters(r.filters),
        group_channels(r.channels / r.groups),
        group_filters(r.filters / r.groups) {
    for (unsigned i = 0; i < 3; ++i) {
      in[i] = r.in[i];
      out[i] = r.out[i];
      kernel[i] = r.kernel[i];
      stride[i] = r.stride[i];
      dilation[i] = r.dilation[i];
      pad[i] = r.pad_begin[i];
    }
  }
  __device__ std::int64_t in_plane() const { return std::int64_t{in[0]} * in[1] * in[2]; }
  __device__ std::int64_t out_plane() const { return std::int64_t{out[0]} * out[1] * out[2]; }
  __device__ int window() const { return kernel[0] * kernel[1] * kernel[2]; }
  __device__ void tap(int t, int* k) const {
    k[2] = t % kernel[2];
    k[1] = t / kernel[2] % kernel[1];
    k[0] = t / kernel[2] / kernel[1];
  }
  /// Where output o meets the input with tap k; −1: outside.
  __device__ std::int64_t input_place(const int* o, const int* k) const {
    std::int64_t place = 0;
    for (int i = 0; i < 3; ++i) {
      const int at = o[i] * stride[i] + k[i] * dilation[i] - pad[i];
      if (at < 0 || at >= in[i]) return -1;
      place = place * in[i] + at;
    }
    return place;
  }
  /// The output that meets input p with tap k; −1: none.
  __device__ std::int64_t output_place(const int* p, const int* k) const {
    std::int64_t place = 0;
    for (int i = 0; i < 3; ++i) {
      const int at = p[i] + pad[i] - k[i] * dilation[i];
      if (at < 0 || at % stride[i] != 0 || at / stride[i] >= out[i]) return -1;
      place = place * out[i] + at / stride[i];
    }
    return place;
  }
};

__device__ void place_of(std::int64_t n, const int* extents, int* at) {
  at[2] = static_cast<int>(n % extents[2]);
  at[1] = static_cast<int>(n / extents[2] % extents[1]);
  at[0] = static_cast<int>(n / extents[2] / extents[1]);
}

template <class T>
__global__ void plain_forward(Window3 w, T* y, const T* x, const T* weights, std::int64_t count) {
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= count) return;
  int o[3], k[3];
  place_of(n % w.out_plane(), w.out, o);
  const std::int64_t filter = n / w.out_plane() % w.filters, sample = n / w.out_plane() / w.filters;
  const std::int64_t first = filter / w.group_filters * w.group_channels;
  Compute<T> sum = 0;
  for (int t = 0; t < w.window(); ++t) {
    w.tap(t, k);
    const std::int64_t at = w.input_place(o, k);
    if (at < 0) continue;
    for (std::int64_t c = 0; c < w.group_channels; ++c)
      sum += Compute<T>(value(x[(sample * w.channels + first + c) * w.in_plane() + at])) *
             value(weights[(filter * w.group_channels + c) * w.window() + t]);
  }
  y[n] = stored<T>(sum);
}

template <class T>
__global__ void plain_input_gradient(Window3 w, T* dx, const T* dy, const T* weights,
                                     std::int64_t count) {
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= count) return;
  int p[3], k[3];
  place_of(n % w.in_plane(), w.in, p);
  const std::int64_t channel = n / w.in_plane() % w.channels,
                     sample = n / w.in_plane() / w.channels;
  const std::int64_t group = channel / w.group_channels, c = channel % w.group_channels;
  Compute<T> sum = 0;
  for (int t = 0; t < w.window(); ++t) {
    w.tap(t, k);
    const std::int64_t at = w.output_place(p, k);
    if (at < 0) continue;
    for (std::int64_t f = group * w.group_filters; f < (group + 1) * w.group_filters; ++f)
      sum += Compute<T>(value(dy[(sample * w.filters + f) * w.out_plane() + at])) *
             value(weights[(f * w.group_channels + c) * w.window() + t]);
  }
  dx[n] = stored<T>(sum);
}

/// A block takes a weight.
template <class T>
__global__ void plain_weight_gradient(Window3 w, T* dw, const T* x, const T* dy) {
  int k[3], o[3];
  w.tap(static_cast<int>(blockIdx.x % w.window()), k);
  const std::int64_t c = blockIdx.x / w.window() % w.group_channels;
  const std::int64_t filter = blockIdx.x / w.window() / w.group_channels;
  const std::int64_t channel = filter / w.group_filters * w.group_channels + c;
  Compute<T> sum = 0;
  for (std::int64_t n = threadIdx.x; n < w.batch * w.out_plane(); n += blockDim.x) {
    const std::int64_t sample = n / w.out_plane(), place = n % w.out_plane();
    place_of(place, w.out, o);
    const std::int64_t at = w.input_place(o, k);
    if (at < 0) continue;
    sum += Compute<T>(value(x[(sample * w.channels + channel) * w.in_plane() + at])) *
           value(dy[(sample * w.filters + filter) * w.out_plane() + place]);
  }
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) dw[blockIdx.x] = stored<T>(sum);
}

/// Which number of the result sample i is: spread over all of them.
__device__ std::int64_t sampled(int i, std::int64_t count) {
  const std::uint64_t spread = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ull;
  return static_cast<std::int64_t>((spread >> 16) % static_cast<std::uint64_t>(count));
}

/// The products that sum to number n of the result of a pass: how many, and each of them.
template <class T>
struct SumOfProducts {
  Window3 w;
  RequestPass pass;
  const T *x, *weights, *y;

  __device__ std::int64_t terms() const {
    if (pass == RequestPass::weight_gradient) return w.batch * w.out_plane();
    return w.window() * (pass == RequestPass::forward ? w.group_channels : w.group_filters);
  }
  __device__ double term(std::int64_t n, std::int64_t t) const {
    if (pass == RequestPass::weight_gradient) return weight_term(n, t);
    const bool is_forward = pass == RequestPass::forward;
    const std::int64_t plane = is_forward ? w.out_plane() : w.in_plane();
    const std::int64_t maps = is_forward ? w.filters : w.channels;
    const std::int64_t map = n / plane % maps, sample = n / plane / maps;
    const std::int64_t own = is_forward ? w.group_filters : w.group_channels;
    const std::int64_t others = is_forward ? w.group_channels : w.group_filters;
    const std::int64_t other = map / own * others + t / w.window();
    int at[3], k[3];
    place_of(n % plane, is_forward ? w.out : w.in, at);
    w.tap(static_cast<int>(t % w.window()), k);
    const std::int64_t place = is_forward ? w.input_place(at, k) : w.output_place(at, k);
    if (place < 0) return 0;
    const std::int64_t filter = is_forward ? map : other, channel = is_forward ? other : map;
    const T weight = weights[(filter * w.group_channels + channel % w.group_channels) * w.window() +
                             t % w.window()];
    const T number = is_forward ? x[(sample * w.channels + channel) * w.in_plane() + place]
                                : y[(sample * w.filters + filter) * w.out_plane() + place];
    return static_cast<double>(value(number)) * static_cast<double>(value(weight));
  }
  __device__ double weight_term(std::int64_t n, std::int64_t t) const {
    int k[3], o[3];
    w.tap(static_cast<int>(n % w.window()), k);
    const std::int64_t filter = n / w.window() / w.group_channels;
    const std::int64_t channel =
        filter / w.group_filters * w.group_channels + n / w.window() % w.group_channels;
    const std::int64_t sample = t / w.out_plane(), place = t % w.out_plane();
    place_of(place, w.out, o);
    const std::int64_t from = w.input_place(o, k);
    if (from < 0) return 0;
    return static_cast<double>(value(x[(sample * w.channels + channel) * w.in_plane() + from])) *
           static_cast<double>(value(y[(sample * w.filters + filter) * w.out_plane() + place]));
  }
};

/// A block takes a sample.
template <class T>
__global__ void sum_samples(SumOfProducts<T> sum, std::int64_t count, double* references) {
  const std::int64_t n = sampled(static_cast<int>(blockIdx.x), count);
  double mine = 0;
  for (std::int64_t t = threadIdx.x; t < sum.terms(); t += blockDim.x) mine += sum.term(n, t);
  mine = sum_over_block(mine);
  if (threadIdx.x == 0) references[blockIdx.x] = mine;
}

template <class T>
__global__ void pick_samples(const T* result, std::int64_t count, double* found) {
  found[threadIdx.x] =
      static_cast<double>(value(result[sampled(static_cast<int>(threadIdx.x), count)]));
}

}  // namespace

void sample_reference(const ConvRequest& request, const void* input, const void* weights,
                      const void* output, double* references, cudaStream_t stream) {
  with_element_type(request.dtype, [&](auto element) {
    using T = decltype(element);
    sum_samples<<<reference_samples, threads_per_block, 0, stream>>>(
        SumOfProducts<T>{Window3(request), request.pass, static_cast<const T*>(input),
                         static_cast<const T*>(weights), static_cast<const T*>(output)},
        request.result_elements(), references);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void sample_result(const ConvRequest& request, const void* result, double* found,
                   cudaStream_t stream) {
  with_element_type(request.dtype, [&](auto element) {
    using T = decltype(element);
    pick_samples<<<1, reference_samples, 0, stream>>>(static_cast<const T*>(result),
                                                      request.result_elements(), found);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void plain_convolution(const ConvRequest& request, const void* input, const void* weights,
                       const void* output, void* result, cudaStream_t stream) {
  const Window3 window(request);
  with_element_type(request.dtype, [&](auto element) {
    using T = decltype(element);
    auto* const to = static_cast<T*>(result);
    const auto* const x = static_cast<const T*>(input);
    const auto* const w = static_cast<const T*>(weights);
    const auto* const y = static_cast<const T*>(output);
    switch (request.pass) {
      case RequestPass::forward:
        plain_forward<<<blocks_for(request.output_elements()), threads_per_block, 0, stream>>>(
            window, to, x, w, request.output_elements());
        break;
      case RequestPass::input_gradient:
        plain_input_gradient<<<blocks_for(request.input_elements()), threads_per_block, 0,
                               stream>>>(window, to, y, w, request.input_elements());
        break;
      case RequestPass::weight_gradient:
        plain_weight_gradient<<<static_cast<unsigned>(request.weight_elements()), threads_per_block,
                                0, stream>>>(window, to, x, y);
        break;
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
