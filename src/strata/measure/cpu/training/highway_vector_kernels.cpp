// SPDX-License-Identifier: Apache-2.0
// The loops for each kind of vector unit; foreach_target.h reads this file once for each. Every
// target costs seconds of compilation, so those are left out that these loops gain little from.
#include "strata/measure/cpu/per_target.hpp"
#include "strata/measure/cpu/training/vector_loops.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/cpu/training/highway_vector_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::cpu_training::HWY_NAMESPACE {
namespace {

template <UnaryKind kind>
void apply(const float* x, float* y, std::int64_t count) {
  apply_loop<kind>(x, y, count);
}
template <UnaryKind kind>
void gradient(const float* known, const float* dy, float* dx, std::int64_t count) {
  gradient_loop<kind>(known, dy, dx, count);
}
float maximum(const float* x, std::int64_t count) { return maximum_loop(x, count); }
float exp_shifted(const float* x, float shift, float* y, std::int64_t count) {
  return exp_shifted_loop(x, shift, y, count);
}
float dot(const float* a, const float* b, std::int64_t count) { return dot_loop(a, b, count); }
float sum(const float* x, std::int64_t count) { return plain_sum_loop(x, count); }

template <std::size_t... kinds>
VectorLoops<float> loops(std::index_sequence<kinds...>) {
  return {.apply = {apply<static_cast<UnaryKind>(kinds)>...},
          .gradient = {gradient<static_cast<UnaryKind>(kinds)>...},
          .maximum = maximum,
          .exp_shifted = exp_shifted,
          .dot = dot,
          .sum = sum};
}

[[maybe_unused]] const bool is_added = cpu::compiled_kernels<VectorLoops<float>>().add(
    HWY_TARGET, loops(std::make_index_sequence<unary_kinds>{}));

}  // namespace
}  // namespace strata::cpu_training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::cpu_training {

template <>
const VectorLoops<float>& vector_loops<float>() {
  return cpu::best_kernels<VectorLoops<float>>();
}

}  // namespace strata::cpu_training
#endif
