// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/onednn/operators.hpp"
#include "strata/measure/cpu/operators.hpp"

#include <algorithm>

namespace strata::cpu_training::onednn {
namespace {

dnnl::algorithm algorithm_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum: return dnnl::algorithm::reduction_sum;
    case ReduceKind::mean: return dnnl::algorithm::reduction_mean;
    case ReduceKind::maximum: return dnnl::algorithm::reduction_max;
    case ReduceKind::minimum: return dnnl::algorithm::reduction_min;
    case ReduceKind::product: return dnnl::algorithm::reduction_mul;
    case ReduceKind::l2: return dnnl::algorithm::reduction_norm_lp_sum;
  }
  return dnnl::algorithm::undef;
}

}  // namespace

std::optional<KernelPair> make_kernels(const Reduce& op, const NodeContext& context) {
  const Dims src = dims_of(context.input());
  Dims dst = src;
  if (op.axes.empty()) std::fill(dst.begin(), dst.end(), 1);
  for (const std::int64_t axis : op.axes) dst[normal_axis(axis, context.input().axes())] = 1;
  if (src == dst) return std::nullopt;  // nothing to reduce
  constexpr float power = 2;            // of the norm
  Computation forward;
  forward.add(
      dnnl::reduction::primitive_desc({algorithm_of(op.kind), dense(src), dense(dst), power, 0.0F},
                                      attributes(), cpu_engine()),
      {{DNNL_ARG_SRC, {input(0), dense(src)}}}, {{DNNL_ARG_DST, {output(0), dense(dst)}}});
  return with_forward(std::get<KernelPair>(plain::make_kernels(op, context)), std::move(forward));
}

}  // namespace strata::cpu_training::onednn
