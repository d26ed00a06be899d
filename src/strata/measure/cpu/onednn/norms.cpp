// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/batch_norm_shape.hpp"
#include "strata/measure/cpu/onednn/operators.hpp"
#include "strata/measure/engine/constants.hpp"

namespace strata::cpu_training::onednn {
namespace {

using namespace training_constants;
using Flags = dnnl::normalization_flags;

Flags flags_of(bool has_scale, bool has_shift) {
  Flags flags = Flags::none;
  if (has_scale) flags |= Flags::use_scale;
  if (has_shift) flags |= Flags::use_shift;
  return flags;
}

/// Scale and shift of a norm, which inputs they are, and their gradients.
struct ScaleAndShift {
  bool has_scale, has_shift;
  Layout layout;

  std::size_t scale_input() const { return 1; }
  std::size_t shift_input() const { return has_scale ? 2 : 1; }

  void add_reads(std::vector<Argument>& reads) const {
    if (has_scale) reads.push_back({DNNL_ARG_SCALE, {input(scale_input()), layout}});
    if (has_shift) reads.push_back({DNNL_ARG_SHIFT, {input(shift_input()), layout}});
  }
  void add_gradients(Computation& to, const NodeContext& context,
                     std::vector<Argument>& writes) const {
    const auto add = [&](bool is_there, int name, std::size_t i) {
      if (!is_there) return;
      writes.push_back(
          {name, context.wants(i) ? Tensor{input_gradient(i), layout} : to.scratch(layout)});
    };
    add(has_scale, DNNL_ARG_DIFF_SCALE, scale_input());
    add(has_shift, DNNL_ARG_DIFF_SHIFT, shift_input());
  }
};

/// The backward pass of a norm that keeps the mean and the variance of what it normalises: all
/// gradients at once.
template <class Backward, class ForwardDescription>
Computation norm_backward(const ForwardDescription& description, const Layout& data, double epsilon,
                          const ScaleAndShift& own, const Tensor& mean, const Tensor& variance,
                          const NodeContext& context) {
  const auto kind =
      own.has_scale || own.has_shift ? dnnl::prop_kind::backward : dnnl::prop_kind::backward_data;
  Computation backward;
  std::vector<Argument> reads = {{DNNL_ARG_SRC, {input(0), data}},
                                 {DNNL_ARG_DIFF_DST, {output_gradient(0), data}},
                                 {DNNL_ARG_MEAN, mean},
                                 {DNNL_ARG_VARIANCE, variance}};
  own.add_reads(reads);  // oneDNN asks for the shift, though no gradient depends on it
  std::vector<Argument> writes = {{DNNL_ARG_DIFF_SRC, context.wants(0)
                                                          ? Tensor{input_gradient(0), data}
                                                          : backward.scratch(data)}};
  own.add_gradients(backward, context, writes);
  backward.add(typename Backward::primitive_desc({kind, data, data, static_cast<float>(epsilon),
                                                  flags_of(own.has_scale, own.has_shift)},
                                                 attributes(), cpu_engine(), description),
               reads, writes);
  return backward;
}

/// Mean and variance of `rows` numbers each: saved for backward, or lost after forward.
struct Moments {
  Tensor mean, variance;
  std::int64_t saved_bytes = 0;

  Moments(Computation& forward, const Layout& layout, bool keeps) {
    const auto bytes = bytes_of(layout);
    mean = keeps ? Tensor{saved(0), layout} : forward.scratch(layout);
    variance = keeps ? Tensor{saved(bytes), layout} : forward.scratch(layout);
    saved_bytes = keeps ? 2 * bytes : 0;
  }
};

}  // namespace

std::optional<KernelPair> make_kernels(const BatchNorm& op, const NodeContext& context) {
  const BatchNormShape s(op, context);
  const Layout data = dense({s.batch, s.channels, 1, s.space}), channels = dense({s.channels});
  const ScaleAndShift own{s.has_scale, s.has_shift, channels};
  Flags flags = flags_of(s.has_scale, s.has_shift);
  if (!context.is_training) flags |= Flags::use_global_stats;
  const auto kind =
      context.is_training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const dnnl::batch_normalization_forward::primitive_desc description(
      {kind, data, static_cast<float>(batch_norm_epsilon), flags}, attributes(), cpu_engine());
  Computation forward;
  std::vector<Argument> reads = {{DNNL_ARG_SRC, {input(0), data}}};
  std::vector<Argument> writes = {{DNNL_ARG_DST, {output(0), data}}};
  own.add_reads(reads);
  if (!context.is_training) {
    reads.push_back({DNNL_ARG_MEAN, {input(s.mean_input()), channels}});
    reads.push_back({DNNL_ARG_VARIANCE, {input(s.variance_input()), channels}});
    forward.add(description, reads, writes);
    return pair_of(std::move(forward), {}, {}, context);
  }
  const Moments moments(forward, channels, context.wants_any());
  writes.push_back({DNNL_ARG_MEAN, moments.mean});
  writes.push_back({DNNL_ARG_VARIANCE, moments.variance});
  forward.add(description, reads, writes);
  forward.add_step(
      [s, mean = moments.mean.place, variance = moments.variance.place](const NodeMemory& m) {
        s.update_running(static_cast<const float*>(mean.in(m)),
                         static_cast<const float*>(variance.in(m)), m);
      });
  std::vector<Computation> backward;
  if (context.wants_any()) {
    backward.push_back(norm_backward<dnnl::batch_normalization_backward>(
        description, data, batch_norm_epsilon, own, moments.mean, moments.variance, context));
  }
  return pair_of(std::move(forward), std::move(backward),
                 {.inputs = true, .saved_bytes = moments.saved_bytes, .backward_is_one = true},
                 context);
}

std::optional<KernelPair> make_kernels(const LayerNorm& op, const NodeContext& context) {
  std::int64_t rows = 1, length = 1;
  const std::size_t first = normal_axis(op.axis, context.input().axes());
  for (std::size_t i = 0; i < context.input().axes(); ++i) {
    (i < first ? rows : length) *= context.input()[i];
  }
  const Layout data = dense({rows, length});
  const ScaleAndShift own{op.scale, op.shift, dense({length})};
  const dnnl::layer_normalization_forward::primitive_desc description(
      {dnnl::prop_kind::forward_training, data, static_cast<float>(layer_norm_epsilon),
       flags_of(op.scale, op.shift)},
      attributes(), cpu_engine());
  Computation forward;
  const Moments moments(forward, dense({rows}), context.wants_any());
  std::vector<Argument> reads = {{DNNL_ARG_SRC, {input(0), data}}};
  own.add_reads(reads);
  forward.add(description, reads,
              {{DNNL_ARG_DST, {output(0), data}},
               {DNNL_ARG_MEAN, moments.mean},
               {DNNL_ARG_VARIANCE, moments.variance}});
  std::vector<Computation> backward;
  if (context.wants_any()) {
    backward.push_back(norm_backward<dnnl::layer_normalization_backward>(
        description, data, layer_norm_epsilon, own, moments.mean, moments.variance, context));
  }
  return pair_of(std::move(forward), std::move(backward),
                 {.inputs = true, .saved_bytes = moments.saved_bytes, .backward_is_one = true},
                 context);
}

std::optional<KernelPair> make_kernels(const LocalResponseNorm& op, const NodeContext& context) {
  if (op.size % 2 == 0) return std::nullopt;  // oneDNN's windows have a middle
  const std::int64_t batch = context.input()[0], channels = context.input()[1];
  const std::int64_t space = context.input().elements / (batch * channels);
  // Such a tensor is channels-last, too, and oneDNN 2.6 crashes on some of them.
  if (channels == 1 || space == 1) return std::nullopt;
  const Layout data = dense({batch, channels, 1, space});
  constexpr auto across = dnnl::algorithm::lrn_across_channels;
  constexpr auto alpha = static_cast<float>(local_response_alpha);
  constexpr auto beta = static_cast<float>(local_response_beta);
  constexpr auto k = static_cast<float>(local_response_k);
  const dnnl::lrn_forward::primitive_desc description(
      {forward_kind(context), across, data, op.size, alpha, beta, k}, attributes(), cpu_engine());
  const Layout workspace = description.workspace_desc();
  Computation forward;
  std::vector<Argument> writes = {{DNNL_ARG_DST, {output(0), data}}};
  if (!workspace.is_zero()) writes.push_back({DNNL_ARG_WORKSPACE, {saved(0), workspace}});
  forward.add(description, {{DNNL_ARG_SRC, {input(0), data}}}, writes);
  std::vector<Computation> backward;
  if (context.wants(0)) {
    std::vector<Argument> reads = {{DNNL_ARG_SRC, {input(0), data}},
                                   {DNNL_ARG_DIFF_DST, {output_gradient(0), data}}};
    if (!workspace.is_zero()) reads.push_back({DNNL_ARG_WORKSPACE, {saved(0), workspace}});
    backward.emplace_back().add(
        dnnl::lrn_backward::primitive_desc({across, data, data, op.size, alpha, beta, k},
                                           attributes(), cpu_engine(), description),
        reads, {{DNNL_ARG_DIFF_SRC, {input_gradient(0), data}}});
  }
  return pair_of(std::move(forward), std::move(backward),
                 {.inputs = true, .saved_bytes = bytes_of(workspace)}, context);
}

}  // namespace strata::cpu_training::onednn
