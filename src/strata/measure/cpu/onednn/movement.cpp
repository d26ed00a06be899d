// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/onednn/operators.hpp"
#include "strata/measure/cpu/plain/shapes.hpp"

/// Concatenation, and copies into another order: reorders.
namespace strata::cpu_training::onednn {
namespace {

/// Parts of a whole along an axis, where they lie in its memory.
std::vector<Layout> parts_of(const BoundTensor& whole, std::size_t axis,
                             const std::vector<TensorId>& parts, const BoundGraph& bound) {
  std::vector<Layout> layouts;
  Dims offsets(whole.axes(), 0);
  for (const TensorId id : parts) {
    layouts.push_back(dense(whole).submemory_desc(dims_of(bound.tensors[id]), offsets));
    offsets[axis] += bound.tensors[id][axis];
  }
  return layouts;
}

}  // namespace

std::optional<KernelPair> make_kernels(const Concat& op, const NodeContext& context) {
  const std::size_t axis = normal_axis(op.axis, context.output().axes());
  const std::vector<Layout> parts =
      parts_of(context.output(), axis, context.node().inputs, context.bound);
  std::vector<Layout> sources;
  std::vector<Argument> reads;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    sources.push_back(dense(context.input(i)));
    reads.push_back({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), {input(i), sources.back()}});
  }
  const Layout whole = dense(context.output());
  Computation forward;
  forward.add(dnnl::concat::primitive_desc(whole, static_cast<int>(axis), sources, cpu_engine(),
                                           attributes()),
              reads, {{DNNL_ARG_DST, {output(0), whole}}});
  std::vector<Computation> backward;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.wants(i)) continue;
    backward.emplace_back().add_reorder({output_gradient(0), parts[i]},
                                        {input_gradient(i), sources[i]});
  }
  return pair_of(std::move(forward), std::move(backward), {}, context);
}

std::optional<KernelPair> make_kernels(const Split& op, const NodeContext& context) {
  const std::size_t axis = normal_axis(op.axis, context.input().axes());
  const std::vector<TensorId>& outputs = context.node().outputs;
  const std::vector<Layout> parts = parts_of(context.input(), axis, outputs, context.bound);
  Computation forward;
  Computation backward;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Layout part = dense(context.output(i));
    forward.add_reorder({input(0), parts[i]}, {output(i), part});
    // An output that nobody reads has no gradient: plain code knows what to do.
    if (context.wants(0) && !context.output(i).wants_gradient) return std::nullopt;
    backward.add_reorder({output_gradient(i), part}, {input_gradient(0), parts[i]});
  }
  return pair_of(std::move(forward), {backward}, {}, context);
}

std::optional<KernelPair> make_kernels(const Transpose& op, const NodeContext& context) {
  const std::size_t axes = context.input().axes();
  if (axes == 0) return std::nullopt;
  const plain::Sizes of_input = plain::strides_of(context.input().shape);
  Dims strides;
  for (std::size_t i = 0; i < axes; ++i) {
    strides.push_back(
        of_input[op.permutation.empty() ? axes - 1 - i : normal_axis(op.permutation[i], axes)]);
  }
  const Layout there = dense(context.output()), here = strided(dims_of(context.output()), strides);
  Computation forward;
  forward.add_reorder({input(0), here}, {output(0), there});
  Computation backward;
  backward.add_reorder({output_gradient(0), there}, {input_gradient(0), here});
  return pair_of(std::move(forward), {backward}, {}, context);
}

std::optional<KernelPair> make_kernels(const ChannelShuffle& op, const NodeContext& context) {
  const Layout data = dense(context.input());
  const auto group_size = static_cast<int>(context.input()[1] / op.groups);
  const dnnl::shuffle_forward::primitive_desc description(
      {forward_kind(context), data, 1, group_size}, cpu_engine(), attributes());
  Computation forward;
  forward.add(description, {{DNNL_ARG_SRC, {input(0), data}}}, {{DNNL_ARG_DST, {output(0), data}}});
  std::vector<Computation> backward;
  if (context.wants(0)) {
    backward.emplace_back().add(dnnl::shuffle_backward::primitive_desc(
                                    {data, 1, group_size}, cpu_engine(), description, attributes()),
                                {{DNNL_ARG_DIFF_DST, {output_gradient(0), data}}},
                                {{DNNL_ARG_DIFF_SRC, {input_gradient(0), data}}});
  }
  return pair_of(std::move(forward), std::move(backward), {}, context);
}

}  // namespace strata::cpu_training::onednn
