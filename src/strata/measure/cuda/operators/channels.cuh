// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"
#include "strata/measure/cuda/kernels/reduce.cuh"

/// Numbers of an array [rows, channels, inner] with one more number for each channel.
namespace strata::cuda::train {

struct ChannelArray {
  std::int64_t rows = 1, channels = 1, inner = 1;
  DType dtype = DType::fp32;
};
/// Of an image: rows are samples, inner is its space.
ChannelArray image_channels(const BoundTensor& image);

/// The bias of a convolution or of a product.
class ChannelBias {
 public:
  explicit ChannelBias(const BoundTensor& image) : ChannelBias(image_channels(image)) {}
  explicit ChannelBias(const ChannelArray& array);

  /// y += bias, in place.
  void add(void* y, const void* bias, cudaStream_t stream) const;
  /// The bias's gradient: Σ dy over rows and inner.
  void sum(void* gradient, const void* dy, void* scratch, cudaStream_t stream) const;
  std::int64_t scratch_bytes() const { return reduction_.scratch_bytes(array_.dtype); }

 private:
  ChannelArray array_;
  Reduction reduction_;
};

}  // namespace strata::cuda::train
