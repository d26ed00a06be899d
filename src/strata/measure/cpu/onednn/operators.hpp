// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/onednn/computation.hpp"

#include <optional>

/// The operators that oneDNN has, one source per family. Nothing, or dnnl::error, where it does not
/// compute this shape as the graph defines it.
namespace strata::cpu_training::onednn {

std::optional<KernelPair> make_kernels(const Convolution& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const Linear& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const MatMul& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const Attention& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const Recurrent& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const Pool& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const AdaptivePool& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const BatchNorm& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const LayerNorm& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const LocalResponseNorm& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const Unary& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const Elementwise& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const Softmax& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const Reduce& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const Resize& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const Concat& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const Split& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const Transpose& op, const NodeContext& context);
std::optional<KernelPair> make_kernels(const ChannelShuffle& op, const NodeContext& context);

/// All others: oneDNN has none.
template <class Op>
std::optional<KernelPair> make_kernels(const Op&, const NodeContext&) {
  return std::nullopt;
}

}  // namespace strata::cpu_training::onednn
