// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/onednn/operators.hpp"
#include "strata/measure/cpu/plain/shapes.hpp"

namespace strata::cpu_training::onednn {

std::optional<KernelPair> make_kernels(const Softmax& op, const NodeContext& context) {
  const plain::AxisRows rows(context.input(), op.axis);
  if (rows.length == 1) return std::nullopt;  // all 1, which oneDNN computes in fp32's digits
  const Layout data = dense({rows.outer, rows.length, rows.inner});
  const auto algorithm = op.log ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  const dnnl::softmax_v2_forward::primitive_desc description(
      {forward_kind(context), algorithm, data, data, 1}, attributes(), cpu_engine());
  Computation forward;
  forward.add(description, {{DNNL_ARG_SRC, {input(0), data}}}, {{DNNL_ARG_DST, {output(0), data}}});
  std::vector<Computation> backward;
  if (context.wants(0)) {
    backward.emplace_back().add(
        dnnl::softmax_v2_backward::primitive_desc({algorithm, data, data, data, 1}, attributes(),
                                                  cpu_engine(), description),
        {{DNNL_ARG_DST, {output(0), data}}, {DNNL_ARG_DIFF_DST, {output_gradient(0), data}}},
        {{DNNL_ARG_DIFF_SRC, {input_gradient(0), data}}});
  }
  return pair_of(std::move(forward), std::move(backward), {.outputs = true}, context);
}

}  // namespace strata::cpu_training::onednn
