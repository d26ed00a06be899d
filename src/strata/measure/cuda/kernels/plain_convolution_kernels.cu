// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/plain_convolution.cuh"

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
  __device__ void kernel_offset(int t, int* k) const {
    k[2] = t % kernel[2];
    k[1] = t / kernel[2] % kernel[1];
    k[0] = t / kernel[2] / kernel[1];
  }
  /// Where output o meets the input with kernel offset k; −1: outside.
  __device__ std::int64_t input_place(const int* o, const int* k) const {
    std::int64_t place = 0;
    for (int i = 0; i < 3; ++i) {
      const int at = o[i] * stride[i] + k[i] * dilation[i] - pad[i];
      if (at < 0 || at >= in[i]) return -1;
      place = place * in[i] + at;
    }
    return place;
  }
  /// The output that meets input p with kernel offset k; −1: none.
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
    w.kernel_offset(t, k);
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
    w.kernel_offset(t, k);
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
  w.kernel_offset(static_cast<int>(blockIdx.x % w.window()), k);
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

}  // namespace

void plain_convolution(const ConvRequest& request, const ConvTensors& tensors,
                       cudaStream_t stream) {
  const Window3 window(request);
  with_element_type(request.dtype, [&](auto element) {
    using T = decltype(element);
    auto* const x = static_cast<T*>(tensors.input);
    auto* const w = static_cast<T*>(tensors.weights);
    auto* const y = static_cast<T*>(tensors.output);
    switch (request.pass) {
      case ConvPass::forward:
        plain_forward<<<blocks_for(request.output_elements()), threads_per_block, 0, stream>>>(
            window, y, x, w, request.output_elements());
        break;
      case ConvPass::input_gradient:
        plain_input_gradient<<<blocks_for(request.input_elements()), threads_per_block, 0,
                               stream>>>(window, x, y, w, request.input_elements());
        break;
      case ConvPass::weight_gradient:
        plain_weight_gradient<<<static_cast<unsigned>(request.weight_elements()), threads_per_block,
                                0, stream>>>(window, w, x, y);
        break;
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
