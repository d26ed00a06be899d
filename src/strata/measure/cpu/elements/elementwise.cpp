// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/elements/elementwise_plan.hpp"
#include "strata/measure/cpu/loops/reduction.hpp"

#include <algorithm>

namespace strata::cpu_training {
namespace {

template <class T>
KernelsOrReason elementwise_kernels(const ElementwisePlan& plan, const Setting& s) {
  NodeNeeds needs;
  for (std::size_t i = 0; i < s.input_count(); ++i) {
    if (!s.wants(i)) continue;
    for (const std::size_t k : operands_of_gradient(plan, i)) {
      (k == plan.types.size() ? needs.outputs : needs.inputs) = true;
    }
    if (!plan.is_repeated(i)) continue;
    needs.scratch_bytes = std::max<std::int64_t>(
        needs.scratch_bytes, reduction_scratch_elements(s.workers, s.input(i).elements) *
                                 static_cast<std::int64_t>(sizeof(T)));
  }
  const Workers& workers = s.workers;
  return kernels_by(
      {.forward = [=, &workers](const NodeMemory& m) { elementwise_forward<T>(plan, workers, m); },
       .backward = [=,
                    &workers](const NodeMemory& m) { elementwise_backward<T>(plan, workers, m); },
       .needs = needs},
      s);
}

}  // namespace

KernelsOrReason make_kernels(const Elementwise& op, const Setting& s) {
  if (s.input_count() == 1) return alias_kernels(s);
  ElementwisePlan plan{.kind = op.kind,
                       .shape = s.output().shape,
                       .result_type = s.output().dtype,
                       .is_beyond = is_beyond_caches(s.output().bytes)};
  // Whole numbers are exact in fp64 up to 2⁵³.
  bool is_fp32 = false;
  for (std::size_t i = 0; i < s.input_count(); ++i) {
    plan.types.push_back(s.input(i).dtype);
    plan.strides.push_back(broadcast_strides(s.input(i).shape, plan.shape));
    is_fp32 = is_fp32 || s.input(i).dtype == DType::fp32;
    if (s.wants(i) && s.output().dtype != s.input(i).dtype) {
      return NoKernels{"its gradient would change the data type"};
    }
  }
  if (op.kind == ElementwiseKind::multiply && s.input_count() > operands_at_once && s.wants_any()) {
    return NoKernels{"the gradient of a product of more than six factors"};
  }
  return is_fp32 ? elementwise_kernels<float>(plan, s) : elementwise_kernels<double>(plan, s);
}

}  // namespace strata::cpu_training
