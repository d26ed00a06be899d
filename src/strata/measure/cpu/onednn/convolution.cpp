// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/conv_windows.hpp"
#include "strata/measure/cpu/onednn/operators.hpp"

namespace strata::cpu_training::onednn {
namespace {

/// A convolution as oneDNN describes it.
struct ConvolutionDims {
  Dims src, weights, bias, dst, strides, dilates, pad_begin, pad_end;
  Layout stored_weights;

  ConvolutionDims(const Convolution& op, const NodeContext& context)
      : src(dims_of(context.input())), bias{context.output()[1]}, dst(dims_of(context.output())) {
    const std::int64_t in = src[1] / op.groups, out = dst[1] / op.groups;
    std::int64_t kernel_space = 1;
    for (const std::int64_t extent : op.kernel) kernel_space *= extent;
    weights = {op.groups, out, in};
    // A transposed convolution's weights are stored as [in, out, kernel].
    Dims steps = op.transposed ? Dims{in * out * kernel_space, kernel_space, out * kernel_space}
                               : Dims{in * out * kernel_space, in * kernel_space, kernel_space};
    for (std::size_t axis = 0; axis < op.kernel.size(); ++axis) {
      kernel_space /= op.kernel[axis];
      weights.push_back(op.kernel[axis]);
      steps.push_back(kernel_space);
      strides.push_back(extent_or(op.stride, axis, 1));
      dilates.push_back(extent_or(op.dilation, axis, 1) - 1);  // 0: none
      pad_begin.push_back(extent_or(op.pad_begin, axis, 0));
      pad_end.push_back(extent_or(op.pad_end, axis, 0));
    }
    if (op.groups == 1) {
      weights.erase(weights.begin());
      steps.erase(steps.begin());
    }
    stored_weights = strided(weights, steps);
  }
};

/// oneDNN chooses the layouts; activations and weights are reordered from and to the dense ones
/// around every pass, as PyTorch does with contiguous tensors.
template <class Forward, class BackwardData, class BackwardWeights>
KernelPair convolution_kernels(const Convolution& op, const NodeContext& context,
                               dnnl::algorithm algorithm) {
  const ConvolutionDims d(op, context);
  const Tensor x{input(0), dense(d.src)}, w{input(1), d.stored_weights}, b{input(2), dense(d.bias)};
  const Tensor dy{output_gradient(0), dense(d.dst)};
  const Layout src = any_layout(d.src), weights = any_layout(d.weights), dst = any_layout(d.dst);
  const Layout bias = op.bias ? any_layout(d.bias) : Layout();

  const typename Forward::primitive_desc forward_description(
      {forward_kind(context), algorithm, src, weights, bias, dst, d.strides, d.dilates, d.pad_begin,
       d.pad_end},
      attributes(), cpu_engine());
  Computation forward;
  std::vector<Argument> reads = {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}};
  if (op.bias) reads.push_back({DNNL_ARG_BIAS, b});
  forward.add(forward_description, reads, {{DNNL_ARG_DST, {output(0), dense(d.dst)}}});

  std::vector<Computation> backward;
  if (context.wants(0)) {
    backward.emplace_back().add(
        typename BackwardData::primitive_desc(
            {algorithm, src, weights, dst, d.strides, d.dilates, d.pad_begin, d.pad_end},
            attributes(), cpu_engine(), forward_description),
        {{DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_DST, dy}},
        {{DNNL_ARG_DIFF_SRC, {input_gradient(0), dense(d.src)}}});
  }
  if (context.wants(1)) {
    std::vector<Argument> writes = {{DNNL_ARG_DIFF_WEIGHTS, {input_gradient(1), d.stored_weights}}};
    if (op.bias) writes.push_back({DNNL_ARG_DIFF_BIAS, {input_gradient(2), dense(d.bias)}});
    backward.emplace_back().add(
        typename BackwardWeights::primitive_desc(
            {algorithm, src, weights, bias, dst, d.strides, d.dilates, d.pad_begin, d.pad_end},
            attributes(), cpu_engine(), forward_description),
        {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}}, writes);
  }
  return pair_of(std::move(forward), std::move(backward), {.inputs = true}, context);
}

}  // namespace

std::optional<KernelPair> make_kernels(const Convolution& op, const NodeContext& context) {
  if (op.bias && context.wants(1) != context.wants(2)) return std::nullopt;  // made together
  if (op.transposed) {
    return convolution_kernels<dnnl::deconvolution_forward, dnnl::deconvolution_backward_data,
                               dnnl::deconvolution_backward_weights>(
        op, context, dnnl::algorithm::deconvolution_direct);
  }
  return convolution_kernels<dnnl::convolution_forward, dnnl::convolution_backward_data,
                             dnnl::convolution_backward_weights>(
      op, context, dnnl::algorithm::convolution_direct);
}

}  // namespace strata::cpu_training::onednn
