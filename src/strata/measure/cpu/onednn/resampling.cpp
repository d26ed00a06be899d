// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/onednn/operators.hpp"

namespace strata::cpu_training::onednn {
namespace {

/// oneDNN's nearest neighbour is that of the pixel's centre, the graph's that of its edge: they are
/// the same where every pixel is repeated a whole number of times.
bool repeats_pixels(const NodeContext& context) {
  for (std::size_t axis = 2; axis < context.input().axes(); ++axis) {
    if (context.output()[axis] % context.input()[axis] != 0) return false;
  }
  return true;
}

}  // namespace

std::optional<KernelPair> make_kernels(const Resize& op, const NodeContext& context) {
  const bool is_nearest = op.kind == ResizeKind::nearest;
  if (op.kind == ResizeKind::cubic || context.input().shape == context.output().shape) {
    return std::nullopt;
  }
  if (is_nearest && !repeats_pixels(context)) return std::nullopt;
  const dnnl::algorithm algorithm =
      is_nearest ? dnnl::algorithm::resampling_nearest : dnnl::algorithm::resampling_linear;
  const Layout src = dense(context.input()), dst = dense(context.output());
  const dnnl::resampling_forward::primitive_desc description(
      {forward_kind(context), algorithm, src, dst}, attributes(), cpu_engine());
  Computation forward;
  forward.add(description, {{DNNL_ARG_SRC, {input(0), src}}}, {{DNNL_ARG_DST, {output(0), dst}}});
  std::vector<Computation> backward;
  if (context.wants(0)) {
    backward.emplace_back().add(dnnl::resampling_backward::primitive_desc(
                                    {algorithm, src, dst}, attributes(), cpu_engine(), description),
                                {{DNNL_ARG_DIFF_DST, {output_gradient(0), dst}}},
                                {{DNNL_ARG_DIFF_SRC, {input_gradient(0), src}}});
  }
  return pair_of(std::move(forward), std::move(backward), {}, context);
}

}  // namespace strata::cpu_training::onednn
