// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/onednn/operators.hpp"
#include "strata/measure/cpu/pool_windows.hpp"

namespace strata::cpu_training::onednn {
namespace {

/// Whether a window lies in padding alone; what its average is, oneDNN and the graph do not agree
/// on.
bool has_empty_window(const PoolWindows& w) {
  for (std::size_t axis = 0; axis < pool_axes; ++axis) {
    const std::int64_t reach = (w.kernel[axis] - 1) * w.dilation[axis];
    const std::int64_t last = w.begin(axis, w.out[axis] - 1);
    if (w.begin(axis, 0) + reach < 0 || last >= w.in[axis]) return true;
  }
  return false;
}

std::optional<KernelPair> pool_kernels(const PoolWindows& w, const NodeContext& context) {
  if (w.is_adaptive || w.changes_nothing() || has_empty_window(w)) return std::nullopt;
  const std::int64_t batch = context.input()[0], channels = context.input()[1];
  Dims src{batch, channels}, dst{batch, channels}, strides, kernel, dilation, pad_begin, pad_end;
  for (std::size_t axis = pool_axes - (context.input().axes() - 2); axis < pool_axes; ++axis) {
    src.push_back(w.in[axis]);
    dst.push_back(w.out[axis]);
    strides.push_back(w.stride[axis]);
    kernel.push_back(w.kernel[axis]);
    dilation.push_back(w.dilation[axis] - 1);  // 0: none
    pad_begin.push_back(w.pad[axis]);
    // As much as the last window reaches, which ceil_mode may have put beyond the padding.
    pad_end.push_back((w.out[axis] - 1) * w.stride[axis] + (w.kernel[axis] - 1) * w.dilation[axis] +
                      1 - w.in[axis] - w.pad[axis]);
  }
  const dnnl::algorithm algorithm = w.is_maximum ? dnnl::algorithm::pooling_max
                                    : w.counts_padding
                                        ? dnnl::algorithm::pooling_avg_include_padding
                                        : dnnl::algorithm::pooling_avg_exclude_padding;
  const Tensor x{input(0), dense(src)}, y{output(0), dense(dst)};
  const dnnl::pooling_v2_forward::primitive_desc description(
      {forward_kind(context), algorithm, x.layout, y.layout, strides, kernel, dilation, pad_begin,
       pad_end},
      attributes(), cpu_engine());
  const Layout argmax = context.wants(0) && w.is_maximum ? description.workspace_desc() : Layout();
  std::vector<Argument> writes = {{DNNL_ARG_DST, y}};
  if (!argmax.is_zero()) writes.push_back({DNNL_ARG_WORKSPACE, {saved(0), argmax}});
  Computation forward;
  forward.add(description, {{DNNL_ARG_SRC, x}}, writes);

  std::vector<Computation> backward;
  if (context.wants(0)) {
    std::vector<Argument> reads = {{DNNL_ARG_DIFF_DST, {output_gradient(0), y.layout}}};
    if (!argmax.is_zero()) reads.push_back({DNNL_ARG_WORKSPACE, {saved(0), argmax}});
    backward.emplace_back().add(
        dnnl::pooling_v2_backward::primitive_desc(
            {algorithm, x.layout, y.layout, strides, kernel, dilation, pad_begin, pad_end},
            attributes(), cpu_engine(), description),
        reads, {{DNNL_ARG_DIFF_SRC, {input_gradient(0), x.layout}}});
  }
  return pair_of(std::move(forward), std::move(backward), {.saved_bytes = bytes_of(argmax)},
                 context);
}

}  // namespace

std::optional<KernelPair> make_kernels(const Pool& op, const NodeContext& context) {
  return pool_kernels(PoolWindows(op, context), context);
}

std::optional<KernelPair> make_kernels(const AdaptivePool& op, const NodeContext& context) {
  return pool_kernels(PoolWindows(op, context), context);
}

}  // namespace strata::cpu_training::onednn
