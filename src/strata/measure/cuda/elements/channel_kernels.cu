// SPDX-License-Identifier: Apache-2.0
// Point by point, but of which channel a point is matters.
#include "strata/measure/cuda/elements/channel_packs.cuh"
#include "strata/measure/cuda/elements/functions.cuh"

namespace strata::cuda::train {
namespace {

template <class T>
struct PreluValue {
  const T* slope;
  template <class A>
  __device__ A operator()(A x, A, std::uint32_t channel) const {
    const A below = value(slope[channel]);  // asked for whatever x is, while x is still on its way
    return x > 0 ? x : below * x;
  }
};
template <class T>
struct PreluGradient {
  const T* slope;
  template <class A>
  __device__ A operator()(A dy, A x, std::uint32_t channel) const {
    const A below = value(slope[channel]);
    return x > 0 ? dy : below * dy;
  }
};
template <class T>
struct BiasAdd {
  const T* bias;
  template <class A>
  __device__ A operator()(A y, A, std::uint32_t channel) const {
    return y + A(value(bias[channel]));
  }
};

/// Entries 2 and 3 of a box are logarithms of its extents; all others pass the logistic function.
__device__ bool is_extent(std::uint32_t entry) { return entry == 2 || entry == 3; }

struct YoloValue {
  template <class A>
  __device__ A operator()(A x, A, std::uint32_t entry) const {
    return is_extent(entry) ? x : logistic(x);
  }
};
struct YoloGradient {
  template <class A>
  __device__ A operator()(A dy, A y, std::uint32_t entry) const {
    return is_extent(entry) ? dy : dy * y * (A(1) - y);
  }
};

/// Every box as a row of its own, so that its entries are the channels.
ChannelArray boxes_of(ChannelArray array, std::int64_t entries) {
  array.rows *= array.channels / entries;
  array.channels = entries;
  return array;
}

}  // namespace

void parametric_relu(const ChannelArray& array, void* y, const void* x, const void* slope,
                     cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    map_channels<T, 1>(array, static_cast<T*>(y), static_cast<const T*>(x), nullptr,
                       PreluValue<T>{static_cast<const T*>(slope)}, stream);
  });
}

void parametric_relu_gradient(const ChannelArray& array, void* dx, const void* dy, const void* x,
                              const void* slope, cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    map_channels<T, 2>(array, static_cast<T*>(dx), static_cast<const T*>(dy),
                       static_cast<const T*>(x), PreluGradient<T>{static_cast<const T*>(slope)},
                       stream);
  });
}

void add_channel_bias(const ChannelArray& array, void* y, const void* bias, cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    map_channels<T, 1>(array, static_cast<T*>(y), static_cast<const T*>(y), nullptr,
                       BiasAdd<T>{static_cast<const T*>(bias)}, stream);
  });
}

void yolo(const ChannelArray& array, std::int64_t entries, void* y, const void* x,
          cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    map_channels<T, 1>(boxes_of(array, entries), static_cast<T*>(y), static_cast<const T*>(x),
                       nullptr, YoloValue{}, stream);
  });
}

void yolo_gradient(const ChannelArray& array, std::int64_t entries, void* dx, const void* dy,
                   const void* y, cudaStream_t stream) {
  with_element_type(array.dtype, [&](auto element) {
    using T = decltype(element);
    map_channels<T, 2>(boxes_of(array, entries), static_cast<T*>(dx), static_cast<const T*>(dy),
                       static_cast<const T*>(y), YoloGradient{}, stream);
  });
}

}  // namespace strata::cuda::train
