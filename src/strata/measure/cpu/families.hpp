// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/setting.hpp"

/// The kernels of each operator; one source per family.
namespace strata::cpu_training {

KernelsOrReason make_kernels(const Convolution& op, const Setting& setting);
KernelsOrReason make_kernels(const Linear& op, const Setting& setting);
KernelsOrReason make_kernels(const MatMul& op, const Setting& setting);
KernelsOrReason make_kernels(const Attention& op, const Setting& setting);
KernelsOrReason make_kernels(const Recurrent& op, const Setting& setting);
KernelsOrReason make_kernels(const Pool& op, const Setting& setting);
KernelsOrReason make_kernels(const AdaptivePool& op, const Setting& setting);
KernelsOrReason make_kernels(const BatchNorm& op, const Setting& setting);
KernelsOrReason make_kernels(const LayerNorm& op, const Setting& setting);
KernelsOrReason make_kernels(const RmsNorm& op, const Setting& setting);
KernelsOrReason make_kernels(const GroupNorm& op, const Setting& setting);
KernelsOrReason make_kernels(const LocalResponseNorm& op, const Setting& setting);
KernelsOrReason make_kernels(const Unary& op, const Setting& setting);
KernelsOrReason make_kernels(const Elementwise& op, const Setting& setting);
KernelsOrReason make_kernels(const Softmax& op, const Setting& setting);
KernelsOrReason make_kernels(const Dropout& op, const Setting& setting);
KernelsOrReason make_kernels(const RotaryEmbedding& op, const Setting& setting);
KernelsOrReason make_kernels(const Cast& op, const Setting& setting);
KernelsOrReason make_kernels(const Reduce& op, const Setting& setting);
KernelsOrReason make_kernels(const SoftmaxCrossEntropy& op, const Setting& setting);
KernelsOrReason make_kernels(const SquaredError& op, const Setting& setting);
KernelsOrReason make_kernels(const Concat& op, const Setting& setting);
KernelsOrReason make_kernels(const Split& op, const Setting& setting);
KernelsOrReason make_kernels(const Slice& op, const Setting& setting);
KernelsOrReason make_kernels(const Reshape& op, const Setting& setting);
KernelsOrReason make_kernels(const Flatten& op, const Setting& setting);
KernelsOrReason make_kernels(const Transpose& op, const Setting& setting);
KernelsOrReason make_kernels(const Expand& op, const Setting& setting);
KernelsOrReason make_kernels(const Resize& op, const Setting& setting);
KernelsOrReason make_kernels(const Pad& op, const Setting& setting);
KernelsOrReason make_kernels(const Embedding& op, const Setting& setting);
KernelsOrReason make_kernels(const Gather& op, const Setting& setting);
KernelsOrReason make_kernels(const ChannelShuffle& op, const Setting& setting);
KernelsOrReason make_kernels(const SpaceToDepth& op, const Setting& setting);
KernelsOrReason make_kernels(const Yolo& op, const Setting& setting);
KernelsOrReason make_kernels(const Opaque& op, const Setting& setting);

/// Output 0 holds the numbers of input 0: a copy where the two are not the same memory, and the
/// gradient likewise.
KernelsOrReason alias_kernels(const Setting& setting);

}  // namespace strata::cpu_training
