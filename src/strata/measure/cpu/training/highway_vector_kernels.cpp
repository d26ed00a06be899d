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
float sum(const float* x, std::int64_t count) { return sum_loop(x, count); }
PairOfSums<float> moments(const float* x, float base, std::int64_t count) {
  return moments_loop(x, base, count);
}
PairOfSums<float> with_normalized(const float* dy, const float* scale, const float* x, float mean,
                                  float factor, std::int64_t count) {
  return with_normalized_loop(dy, scale, x, mean, factor, count);
}
void line(const float* x, float a, float b, const float* scale, const float* shift, float* y,
          std::int64_t count) {
  line_loop(x, a, b, scale, shift, y, count);
}
void centred(const float* dy, const float* scale, const float* x, float a, float mean, float slope,
             float offset, float factor, float* dx, std::int64_t count) {
  centred_loop(dy, scale, x, a, mean, slope, offset, factor, dx, count);
}
void add_parameters(const float* dy, const float* x, float mean, float factor, float* d_scale,
                    float* d_shift, std::int64_t count) {
  add_parameters_loop(dy, x, mean, factor, d_scale, d_shift, count);
}
void drop(const float* x, std::uint32_t key, std::uint32_t first, std::uint32_t threshold,
          float scale, float* y, std::uint8_t* mask, std::int64_t count) {
  drop_loop(x, key, first, threshold, scale, y, mask, count);
}
void keep(const float* dy, const std::uint8_t* mask, float scale, float* dx, std::int64_t count) {
  keep_loop(dy, mask, scale, dx, count);
}
void larger_row(const float* x, std::int32_t first, float* most, std::int32_t* places,
                std::int64_t count) {
  larger_row_loop(x, first, most, places, count);
}
void larger_taps(const float* x, const std::int32_t* from, std::int64_t stride, float* most,
                 std::int32_t* places, std::int64_t count) {
  // The common strides as constants, so that vectors can be loaded.
  if (stride == 1) return larger_taps_loop(x, from, 1, most, places, count);
  if (stride == 2) return larger_taps_loop(x, from, 2, most, places, count);
  larger_taps_loop(x, from, stride, most, places, count);
}

template <std::size_t... kinds>
VectorLoops<float> loops(std::index_sequence<kinds...>) {
  return {.apply = {apply<static_cast<UnaryKind>(kinds)>...},
          .gradient = {gradient<static_cast<UnaryKind>(kinds)>...},
          .maximum = maximum,
          .exp_shifted = exp_shifted,
          .dot = dot,
          .sum = sum,
          .moments = moments,
          .with_normalized = with_normalized,
          .line = line,
          .centred = centred,
          .add_parameters = add_parameters,
          .drop = drop,
          .keep = keep,
          .larger_row = larger_row,
          .larger_taps = larger_taps};
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
