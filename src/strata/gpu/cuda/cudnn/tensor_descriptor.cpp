// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/cudnn/tensor_descriptor.cuh"

#include <fmt/format.h>

namespace strata::cuda {

void refuse_unless(const CudnnFunctions& cudnn, cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw GraphRefusal{fmt::format("{}: {}", call, cudnn.error_text(status))};
}

TensorDescriptor::TensorDescriptor(Cudnn cudnn, DType dtype,
                                   const std::vector<std::int64_t>& extents)
    : cudnn_(std::move(cudnn)) {
  std::vector<int> sizes(extents.size()), strides(extents.size());
  int stride = 1;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    sizes[axis] = static_cast<int>(extents[axis]);
    strides[axis] = stride;
    stride *= sizes[axis];
  }
  const cudnnDataType_t type = graph_type(dtype);
  refuse_unless(*cudnn_, cudnn_->create_tensor(&descriptor_), "cudnnCreateTensorDescriptor");
  const cudnnStatus_t status = cudnn_->set_tensor_nd(
      descriptor_, type, static_cast<int>(sizes.size()), sizes.data(), strides.data());
  if (status == CUDNN_STATUS_SUCCESS) return;
  cudnn_->destroy_tensor(descriptor_);
  refuse_unless(*cudnn_, status, "cudnnSetTensorNdDescriptor");
}

TensorDescriptor::~TensorDescriptor() { cudnn_->destroy_tensor(descriptor_); }

}  // namespace strata::cuda
