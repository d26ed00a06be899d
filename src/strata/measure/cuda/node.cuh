// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/context.cuh"
#include "strata/gpu/cuda/matrix_products.cuh"
#include "strata/measure/cuda/operators/cudnn.cuh"
#include "strata/measure/engine/device.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// What the kernels of all nodes on one GPU share, and what each knows of its node.
namespace strata::cuda::train {

class ConvolutionAlgorithms;

struct TrainingContext {
  DeviceChoices choices;
  std::shared_ptr<ConvContext> convolution;  ///< has the stream that everything runs in
  std::shared_ptr<MatrixProducts> products;  ///< nothing: `no_products` says why
  std::string no_products;
  SharedCudnn cudnn;  ///< nothing: `no_cudnn` says why
  std::string no_cudnn;
  std::shared_ptr<ConvolutionAlgorithms> convolutions;
  /// Of cuDNN, by their description (shared_graph.cuh).
  std::shared_ptr<std::map<std::string, std::shared_ptr<void>>> graphs =
      std::make_shared<std::map<std::string, std::shared_ptr<void>>>();

  cudaStream_t stream() const { return convolution->stream.get(); }
};
using SharedTraining = std::shared_ptr<TrainingContext>;

/// A node with its tensors, as they are bound.
struct NodeFacts {
  SharedTraining context;
  const BoundGraph* bound = nullptr;  ///< only while kernels are made
  NodeId id = 0;
  std::vector<BoundTensor> inputs, outputs;
  std::size_t first_own = 0;
  bool is_training = true;
};
NodeFacts facts_of(SharedTraining context, const BoundGraph& bound, NodeId node, bool is_training);

/// By what a pass is computed: our own kernel where that is the regular implementation, and the
/// plain kernel that stands in where a library refuses a shape.
inline constexpr std::string_view own_kernel = "strata kernel", plain_kernel = "reference code";

class CudaNode : public NodeKernels {
 public:
  explicit CudaNode(NodeFacts facts) : facts_(std::move(facts)) { facts_.bound = nullptr; }
  std::string implementation(Pass) const override { return std::string(own_kernel); }

 protected:
  const BoundTensor& input(std::size_t i) const { return facts_.inputs[i]; }
  const BoundTensor& output(std::size_t i = 0) const { return facts_.outputs[i]; }
  std::size_t first_own() const { return facts_.first_own; }
  TrainingContext& context() const { return *facts_.context; }
  cudaStream_t stream() const { return facts_.context->stream(); }
  const NodeFacts& facts() const { return facts_; }

  /// Whether a gradient is to be made: the engine gives a place to those that belong to the pass.
  static bool makes(const NodeMemory& memory, std::size_t i) {
    return i < memory.input_gradients.size() && memory.input_gradients[i] != nullptr;
  }
  void copy(void* to, const void* from, std::int64_t bytes) const {
    if (to != from)
      STRATA_CUDA_CALL(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes),
                                       cudaMemcpyDeviceToDevice, stream()));
  }
  void fill_zero(void* to, std::int64_t bytes) const {
    STRATA_CUDA_CALL(cudaMemsetAsync(to, 0, static_cast<std::size_t>(bytes), stream()));
  }

 private:
  NodeFacts facts_;
};

/// Bytes of a number that sums of this type are kept in.
inline std::int64_t sum_bytes(DType dtype) { return dtype == DType::fp64 ? 8 : 4; }
/// Types that our kernels compute in.
bool is_computed(DType dtype);

KernelsOrReason make_kernels(const Convolution& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Linear& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const MatMul& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Attention& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Recurrent& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Pool& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const AdaptivePool& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const BatchNorm& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const LayerNorm& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const RmsNorm& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const GroupNorm& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const LocalResponseNorm& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Unary& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Elementwise& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Softmax& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Dropout& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const RotaryEmbedding& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Cast& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Reduce& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const SoftmaxCrossEntropy& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const SquaredError& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Concat& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Split& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Slice& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Reshape& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Flatten& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Transpose& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Expand& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Resize& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Pad& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Embedding& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Gather& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const ChannelShuffle& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const SpaceToDepth& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Yolo& op, const NodeFacts& facts);
KernelsOrReason make_kernels(const Opaque& op, const NodeFacts& facts);

/// A copy, where the program did not already see that nothing moves.
KernelsOrReason make_copy(const NodeFacts& facts);

/// Spatial extents into the last of three places; the others stay 1.
inline void spatial_extents(const BoundTensor& tensor, int (&extents)[3]) {
  const std::size_t axes = tensor.axes() - 2;
  for (std::size_t axis = 0; axis < axes; ++axis)
    extents[3 - axes + axis] = static_cast<int>(tensor[axis + 2]);
}

}  // namespace strata::cuda::train
