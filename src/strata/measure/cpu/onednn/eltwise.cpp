// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/onednn/operators.hpp"
#include "strata/measure/engine/constants.hpp"

namespace strata::cpu_training::onednn {
namespace {

using Algorithm = dnnl::algorithm;

/// A function of one number in oneDNN's words. Backward may compute the derivative from the output,
/// which is there anyway, by an algorithm of its own.
struct EltwiseFunction {
  Algorithm forward;
  float alpha = 0, beta = 0;
  Algorithm backward_from_output = Algorithm::undef;
};

std::optional<EltwiseFunction> function_of(UnaryKind kind) {
  using namespace training_constants;
  switch (kind) {
    case UnaryKind::relu:
      return {{Algorithm::eltwise_relu, 0, 0, Algorithm::eltwise_relu_use_dst_for_bwd}};
    case UnaryKind::relu6:
      return {{Algorithm::eltwise_clip_v2, 0, 6, Algorithm::eltwise_clip_v2_use_dst_for_bwd}};
    case UnaryKind::leaky_relu:
      return {{Algorithm::eltwise_relu, static_cast<float>(leaky_relu_slope), 0,
               Algorithm::eltwise_relu_use_dst_for_bwd}};
    case UnaryKind::elu:
      return {{Algorithm::eltwise_elu, static_cast<float>(elu_alpha), 0,
               Algorithm::eltwise_elu_use_dst_for_bwd}};
    case UnaryKind::gelu: return {{Algorithm::eltwise_gelu_erf}};
    case UnaryKind::gelu_tanh: return {{Algorithm::eltwise_gelu_tanh}};
    case UnaryKind::silu: return {{Algorithm::eltwise_swish, 1}};
    case UnaryKind::hard_swish: return {{Algorithm::eltwise_hardswish}};
    case UnaryKind::sigmoid:
      return {{Algorithm::eltwise_logistic, 0, 0, Algorithm::eltwise_logistic_use_dst_for_bwd}};
    case UnaryKind::tanh:
      return {{Algorithm::eltwise_tanh, 0, 0, Algorithm::eltwise_tanh_use_dst_for_bwd}};
    case UnaryKind::mish: return {{Algorithm::eltwise_mish}};
    case UnaryKind::softplus: return {{Algorithm::eltwise_soft_relu}};
    case UnaryKind::clip:
      return {{Algorithm::eltwise_clip_v2, static_cast<float>(clip_low),
               static_cast<float>(clip_high), Algorithm::eltwise_clip_v2_use_dst_for_bwd}};
    case UnaryKind::negate: return {{Algorithm::eltwise_linear, -1}};
    case UnaryKind::absolute: return {{Algorithm::eltwise_abs}};
    case UnaryKind::square: return {{Algorithm::eltwise_square}};
    case UnaryKind::square_root:
      return {{Algorithm::eltwise_sqrt, 0, 0, Algorithm::eltwise_sqrt_use_dst_for_bwd}};
    case UnaryKind::reciprocal: return {{Algorithm::eltwise_pow, 1, -1}};
    case UnaryKind::exponential:
      return {{Algorithm::eltwise_exp, 0, 0, Algorithm::eltwise_exp_use_dst_for_bwd}};
    case UnaryKind::logarithm: return {{Algorithm::eltwise_log}};
    default: return std::nullopt;  // selu, softsign, erf, sine, floor, …
  }
}

KernelPair prelu_kernels(const NodeContext& context) {
  const Layout data = dense(context.input());
  Dims of_slopes(context.input().axes(), 1);
  of_slopes[1] = context.input()[1];
  const Layout slopes = dense(of_slopes);
  const Tensor x{input(0), data}, w{input(1), slopes};
  const dnnl::prelu_forward::primitive_desc description({forward_kind(context), data, slopes},
                                                        attributes(), cpu_engine());
  Computation forward;
  forward.add(description, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}},
              {{DNNL_ARG_DST, {output(0), data}}});
  std::vector<Computation> backward;
  if (context.wants_any()) {
    Computation& both = backward.emplace_back();
    const auto gradient = [&](std::size_t i, const Layout& layout) {
      return context.wants(i) ? Tensor{input_gradient(i), layout} : both.scratch(layout);
    };
    both.add(
        dnnl::prelu_backward::primitive_desc({data, slopes, data, slopes}, attributes(),
                                             cpu_engine(), description),
        {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DIFF_DST, {output_gradient(0), data}}},
        {{DNNL_ARG_DIFF_SRC, gradient(0, data)}, {DNNL_ARG_DIFF_WEIGHTS, gradient(1, slopes)}});
  }
  return pair_of(std::move(forward), std::move(backward), {.inputs = true, .backward_is_one = true},
                 context);
}

}  // namespace

std::optional<KernelPair> make_kernels(const Unary& op, const NodeContext& context) {
  if (op.kind == UnaryKind::prelu) return prelu_kernels(context);
  const std::optional<EltwiseFunction> function = function_of(op.kind);
  if (!function) return std::nullopt;
  const Layout data = dense({context.output().elements});
  const dnnl::eltwise_forward::primitive_desc description(
      {forward_kind(context), function->forward, data, function->alpha, function->beta},
      attributes(), cpu_engine());
  Computation forward;
  forward.add(description, {{DNNL_ARG_SRC, {input(0), data}}}, {{DNNL_ARG_DST, {output(0), data}}});
  const bool is_from_output = function->backward_from_output != Algorithm::undef;
  std::vector<Computation> backward;
  if (context.wants(0)) {
    const Algorithm algorithm = is_from_output ? function->backward_from_output : function->forward;
    const Argument known = is_from_output ? Argument{DNNL_ARG_DST, {output(0), data}}
                                          : Argument{DNNL_ARG_SRC, {input(0), data}};
    backward.emplace_back().add(dnnl::eltwise_backward::primitive_desc(
                                    {algorithm, data, data, function->alpha, function->beta},
                                    attributes(), cpu_engine(), description),
                                {known, {DNNL_ARG_DIFF_DST, {output_gradient(0), data}}},
                                {{DNNL_ARG_DIFF_SRC, {input_gradient(0), data}}});
  }
  return pair_of(std::move(forward), std::move(backward),
                 {.inputs = !is_from_output, .outputs = is_from_output}, context);
}

}  // namespace strata::cpu_training::onednn
