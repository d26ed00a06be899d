// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/gpu/cuda/cudnn/descriptors.cuh"
#include "strata/graph/operators.hpp"
#include "strata/measure/engine/weight_pieces.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// cuDNN's recurrent layers as it describes them.
namespace strata::cuda::train {

/// What cuDNN's recurrent layers are called by, beside its handle.
struct RnnFunctions {
  /// Nothing, and the reason in `problem`, when it cannot be loaded.
  static std::shared_ptr<const RnnFunctions> load(cudaStream_t stream, std::string& problem);

  Cudnn cudnn;
  LoadedLibrary library;
#define STRATA_RNN(member, function) decltype(&function) member = nullptr;
#include "strata/measure/cuda/cudnn/rnn_functions.inc"
#undef STRATA_RNN
};
using Rnn = std::shared_ptr<const RnnFunctions>;

/// What cuDNN does not do, with its reason; becomes a value where ways are made.
struct RnnRefusal {
  std::string reason;
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

/// A layer described for one of the algorithms, with the sizes of its memory. Throws RnnRefusal.
class RnnPlan {
 public:
  RnnPlan(Rnn rnn, const RnnShape& shape, cudnnRNNAlgo_t algorithm);
  ~RnnPlan();
  RnnPlan(const RnnPlan&) = delete;
  RnnPlan& operator=(const RnnPlan&) = delete;

  const RnnFunctions& rnn() const { return *rnn_; }
  cudnnHandle_t handle() const { return rnn_->cudnn->handle; }
  cudnnForwardMode_t mode() const {
    return shape_.is_training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
  }

  cudnnRNNDescriptor_t layer = nullptr;
  cudnnRNNDataDescriptor_t x = nullptr, y = nullptr;
  cudnnTensorDescriptor_t h = nullptr, c = nullptr;
  std::size_t weight_bytes = 0, work_bytes = 0, reserve_bytes = 0;
  std::vector<WeightPiece> pieces;

 private:
  void describe(cudnnRNNAlgo_t algorithm);
  void find_weights();
  void find_weight(std::int64_t cell, std::int64_t which, std::int64_t gate, void* space);
  void check(cudnnStatus_t status, const char* call) const;
  void release();

  Rnn rnn_;
  RnnShape shape_;
  cudnnDropoutDescriptor_t dropout_ = nullptr;
  cudnnTensorDescriptor_t matrix_ = nullptr, bias_ = nullptr;  ///< filled by cuDNN
};

}  // namespace strata::cuda::train
