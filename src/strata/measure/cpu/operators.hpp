// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/node_context.hpp"

#include <optional>
#include <string>

namespace strata::cpu_training {

/// The library that PyTorch and TensorFlow call on CPUs. A build without it has a stand-in
/// (no_onednn/) that knows no operator.
namespace onednn {

/// Nothing where oneDNN has no such operator for this type and shape.
std::optional<KernelPair> kernels_of(const NodeContext& context);
std::string version();  ///< "oneDNN 2.6.3"; empty: this build has none

}  // namespace onednn

/// Loops over the definitions of the operators: for what oneDNN lacks, for fp64, and what its
/// results are compared with. One source per family.
namespace plain {

KernelPairOrReason make_kernels(const Convolution& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Linear& op, const NodeContext& context);
KernelPairOrReason make_kernels(const MatMul& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Attention& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Recurrent& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Pool& op, const NodeContext& context);
KernelPairOrReason make_kernels(const AdaptivePool& op, const NodeContext& context);
KernelPairOrReason make_kernels(const BatchNorm& op, const NodeContext& context);
KernelPairOrReason make_kernels(const LayerNorm& op, const NodeContext& context);
KernelPairOrReason make_kernels(const RmsNorm& op, const NodeContext& context);
KernelPairOrReason make_kernels(const GroupNorm& op, const NodeContext& context);
KernelPairOrReason make_kernels(const LocalResponseNorm& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Unary& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Elementwise& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Softmax& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Dropout& op, const NodeContext& context);
KernelPairOrReason make_kernels(const RotaryEmbedding& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Cast& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Reduce& op, const NodeContext& context);
KernelPairOrReason make_kernels(const SoftmaxCrossEntropy& op, const NodeContext& context);
KernelPairOrReason make_kernels(const SquaredError& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Concat& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Split& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Slice& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Reshape& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Flatten& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Transpose& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Expand& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Resize& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Pad& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Embedding& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Gather& op, const NodeContext& context);
KernelPairOrReason make_kernels(const ChannelShuffle& op, const NodeContext& context);
KernelPairOrReason make_kernels(const SpaceToDepth& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Yolo& op, const NodeContext& context);
KernelPairOrReason make_kernels(const Opaque& op, const NodeContext& context);

/// Output 0 holds the numbers of input 0: a copy where the two are not the same memory, and the
/// gradient likewise.
KernelPair copy_kernels(const NodeContext& context);

}  // namespace plain
}  // namespace strata::cpu_training
