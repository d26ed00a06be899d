// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/operators/channels.cuh"

#include "strata/measure/cuda/kernels/elementwise.cuh"

namespace strata::cuda::train {

ChannelArray image_channels(const BoundTensor& image) {
  ChannelArray array;
  array.dtype = image.dtype;
  array.rows = image[0];
  array.channels = image[1];
  array.inner = image.elements / (image[0] * image[1]);
  return array;
}

ChannelBias::ChannelBias(const ChannelArray& array)
    : array_(array),
      reduction_(std::vector<std::int64_t>{array.rows, array.channels, array.inner},
                 {true, false, true}) {}

void ChannelBias::add(void* y, const void* bias, cudaStream_t stream) const {
  ElementwiseRun run;
  run.kind = ElementwiseKind::add;
  run.inputs = 2;
  run.input[0] = y;
  run.input[1] = bias;
  run.input_type[0] = run.input_type[1] = run.y_type = array_.dtype;
  const std::vector<std::int64_t> extents = {array_.rows, array_.channels, array_.inner};
  elementwise(run, y, {extents, {dense_strides(extents), {0, 1, 0}}}, stream);
}

void ChannelBias::sum(void* gradient, const void* dy, void* scratch, cudaStream_t stream) const {
  reduce({.dtype = array_.dtype}, gradient, dy, nullptr, reduction_, scratch, stream);
}

}  // namespace strata::cuda::train
