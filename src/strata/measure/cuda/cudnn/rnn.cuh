// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/gpu/cuda/cudnn/descriptors.cuh"
#include "strata/graph/operators.hpp"

#include <cstdint>
#include <vector>

/// cuDNN's recurrent layers as it describes them.
namespace strata::cuda::train {

/// A piece of one of the layer's own tensors, and where cuDNN wants it in the space that holds all
/// of them.
struct WeightPiece {
  std::size_t tensor = 0;  ///< counted from the first own
  std::int64_t at_byte = 0;
  std::int64_t space_byte = 0;
  std::int64_t bytes = 0;
};

/// The extents of a stack of recurrent layers.
struct RnnShape {
  Recurrent op;
  DType dtype = DType::fp32;
  std::int64_t batch = 0, times = 0, features = 0;
  bool is_training = true;

  std::int64_t directions() const { return op.bidirectional ? 2 : 1; }
  std::int64_t width() const { return op.projection > 0 ? op.projection : op.hidden; }
  std::int64_t gates() const {
    return op.cell == CellKind::lstm ? 4 : op.cell == CellKind::gru ? 3 : 1;
  }
  std::int64_t inputs_of(std::int64_t layer) const {
    return layer == 0 ? features : directions() * width();
  }
  /// Tensors that each layer in one direction has: two matrices, biases, a projection.
  std::int64_t own_tensors() const { return 2 + op.biases + (op.projection > 0 ? 1 : 0); }
};

/// A layer described for cuDNN's standard algorithm, with the sizes of its memory. Throws
/// GraphRefusal.
class RnnPlan {
 public:
  RnnPlan(Cudnn cudnn, const RnnShape& shape);
  ~RnnPlan();
  RnnPlan(const RnnPlan&) = delete;
  RnnPlan& operator=(const RnnPlan&) = delete;

  const CudnnFunctions& cudnn() const { return *cudnn_; }
  cudnnHandle_t handle() const { return cudnn_->handle; }
  cudnnForwardMode_t mode() const {
    return shape_.is_training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
  }

  cudnnRNNDescriptor_t layer = nullptr;
  cudnnRNNDataDescriptor_t x = nullptr, y = nullptr;
  cudnnTensorDescriptor_t h = nullptr, c = nullptr;
  std::size_t weight_bytes = 0, work_bytes = 0, reserve_bytes = 0;
  std::vector<WeightPiece> pieces;

 private:
  void describe();
  void find_weights();
  void find_weight(std::int64_t cell, std::int64_t which, std::int64_t gate, void* space);
  void check(cudnnStatus_t status, const char* call) const;
  void release();

  Cudnn cudnn_;
  RnnShape shape_;
  cudnnDropoutDescriptor_t dropout_ = nullptr;
  cudnnTensorDescriptor_t matrix_ = nullptr, bias_ = nullptr;  ///< filled by cuDNN
};

}  // namespace strata::cuda::train
