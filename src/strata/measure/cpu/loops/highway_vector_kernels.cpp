// SPDX-License-Identifier: Apache-2.0
// The loops for each kind of vector unit; foreach_target.h reads this file once for each. Every
// target costs seconds of compilation, so those are left out that these loops gain little from.
#include "strata/cpu/per_target.hpp"
#include "strata/measure/cpu/loops/vector_row_loops.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/cpu/loops/highway_vector_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::cpu_training::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_ARCH_X86
void stream(const void* from, void* to, std::int64_t bytes) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto* source = static_cast<const std::uint8_t*>(from);
  auto* target = static_cast<std::uint8_t*>(to);
  const auto misplaced = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % 64);
  const std::int64_t ahead = misplaced == 0 ? 0 : 64 - misplaced;
  std::int64_t at = ahead < bytes ? ahead : bytes;
  if (at > 0) __builtin_memcpy(target, source, static_cast<std::size_t>(at));
  for (; at + lanes <= bytes; at += lanes) {
    hn::Stream(hn::LoadU(d, source + at), d, target + at);
  }
  if (at < bytes) __builtin_memcpy(target + at, source + at, static_cast<std::size_t>(bytes - at));
}
#else
constexpr decltype(VectorLoops<float>::stream) stream = nullptr;
#endif

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
RowPowers<float> row_powers(const float* x, float* y, std::int64_t count, const float* fetched) {
  return row_powers_loop(x, y, count, fetched);
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
PairOfSums<float> line_and_moments(const float* x, float a, float b, const float* scale,
                                   const float* shift, float* y, const NextRow<float>& next,
                                   std::int64_t count) {
  return line_and_moments_loop(x, a, b, scale, shift, y, next, count);
}
void line_while_fetching(const float* x, float a, float b, const float* scale, const float* shift,
                         float* y, const float* fetched, std::int64_t count) {
  line_while_fetching_loop(x, a, b, scale, shift, y, fetched, count);
}
void centred(const GradientRow<float>& row, float* dx, std::int64_t count) {
  centred_loop(row, dx, count);
}
PairOfSums<float> centred_and_sums(const GradientRow<float>& row, float* dx,
                                   const NextRow<float>& next, std::int64_t count) {
  return centred_and_sums_loop(row, dx, next, count);
}
void add_parameters(const float* dy, const float* x, float mean, float factor, float* d_scale,
                    float* d_shift, std::int64_t count) {
  add_parameters_loop(dy, x, mean, factor, d_scale, d_shift, count);
}
void norm_gradient_rows(const NormGradientRows<float>& rows, bool takes_mean, float* parameters) {
  norm_gradient_rows_loop(rows, takes_mean, parameters);
}
void norm_row_sums(const NormGradientRows<float>& rows, bool takes_mean, float* parameters,
                   PairOfSums<float>* sums) {
  norm_row_sums_loop(rows, takes_mean, parameters, sums);
}
PairOfSums<float> plane_sums(const GradientPlane<float>& plane, std::int64_t count) {
  return plane_sums_loop(plane, count);
}
void plane_gradient(const PlaneGradient<float>& plane, float* dx, std::int64_t count) {
  plane_gradient_loop(plane, dx, count);
}
PairOfSums<float> plane_gradient_and_sums(const PlaneGradient<float>& plane, float* dx,
                                          const GradientPlane<float>& next, std::int64_t count) {
  return plane_gradient_and_sums_loop(plane, dx, next, count);
}
void add_channel_rows(const float* x, const float* dy, const RowSequences& s, std::int64_t channels,
                      bool has_base, float* sums) {
  add_channel_rows_loop(x, dy, s, channels, has_base, sums);
}
void channel_lines(const float* x, const float* dy, const float* lines, float* y, std::int64_t rows,
                   std::int64_t channels) {
  channel_lines_loop(x, dy, lines, y, rows, channels);
}
void drop(const float* x, std::uint32_t key, std::uint64_t first, std::uint32_t threshold,
          float scale, float* y, std::uint8_t* mask, std::int64_t count) {
  drop_loop(x, key, first, threshold, scale, y, mask, count);
}
void keep(const float* dy, const std::uint8_t* mask, float scale, float* dx, std::int64_t count) {
  keep_loop(dy, mask, scale, dx, count);
}
void prelu(const float* x, float slope, float* y, std::int64_t count) {
  prelu_loop(x, slope, y, count);
}
float prelu_gradient(const float* x, const float* dy, float slope, float* dx, std::int64_t count) {
  return prelu_gradient_loop(x, dy, slope, dx, count);
}
void softmax_gradient(const float* y, const float* dy, float sum, float* dx, std::int64_t count) {
  softmax_gradient_loop(y, dy, sum, dx, count);
}
void softmax_gradient_rows(const float* y, const float* dy, float* dx, std::int64_t rows,
                           std::int64_t length) {
  softmax_gradient_rows_loop(y, dy, dx, rows, length);
}
void log_softmax_gradient(const float* y, const float* dy, float sum, float* dx,
                          std::int64_t count) {
  log_softmax_gradient_loop(y, dy, sum, dx, count);
}
void add_row(const float* x, float* total, std::int64_t count) { add_row_loop(x, total, count); }
void copy_and_larger(const float* x, float* to, float* most, std::int64_t count) {
  copy_and_larger_loop(x, to, most, count);
}
void multiply(const float* a, const float* b, float* y, std::int64_t count) {
  multiply_loop(a, b, y, count);
}
void subtract(const float* a, const float* b, float* y, std::int64_t count) {
  subtract_loop(a, b, y, count);
}
void add_products(const float* a, const float* b, float* total, std::int64_t count) {
  add_products_loop(a, b, total, count);
}
void product_gradients(const float* dy, const float* a, const float* b, float* da, float* db,
                       std::int64_t count) {
  product_gradients_loop(dy, a, b, da, db, count);
}
void factor_gradients(const float* dy, const float* factors, const float* x, float* dx, float* sums,
                      std::int64_t count) {
  factor_gradients_loop(dy, factors, x, dx, sums, count);
}
float factor_gradient(const float* dy, float factor, const float* x, float* dx,
                      std::int64_t count) {
  return factor_gradient_loop(dy, factor, x, dx, count);
}
void add_distant_row(const float* x, float* total, std::int64_t count) {
  add_distant_row_loop(x, total, count);
}
void exp_columns(const float* x, const float* shifts, float* y, float* sums, std::int64_t count) {
  exp_columns_loop(x, shifts, y, sums, count);
}
void softmax_gradient_columns(const float* y, const float* dy, const float* sums, float* dx,
                              std::int64_t count) {
  softmax_gradient_columns_loop(y, dy, sums, dx, count);
}
void log_softmax_gradient_columns(const float* y, const float* dy, const float* sums, float* dx,
                                  std::int64_t count) {
  log_softmax_gradient_columns_loop(y, dy, sums, dx, count);
}
void stretch_moments(const float* x, const Stretches& s, const float* base, float* sums) {
  stretch_moments_loop(x, s, base, sums);
}
void stretch_products(const float* dy, const float* x, const Stretches& s, const float* base,
                      float* sums) {
  stretch_products_loop(dy, x, s, base, sums);
}
void stretch_lines(const float* x, const Stretches& s, const float* a, const float* b, float* y) {
  stretch_lines_loop(x, s, a, b, y);
}
void stretch_gradients(const float* dy, const float* x, const Stretches& s,
                       const StretchGradients<float>& of, float* dx) {
  stretch_gradients_loop(dy, x, s, of, dx);
}
void add_scaled(const float* x, float factor, float* total, std::int64_t count) {
  add_scaled_loop(x, factor, total, count);
}
void respond(const float* const* rows, std::int64_t row_count, const float* x, float k,
             float factor, float* y, float* scale, std::int64_t count) {
  respond_loop(rows, row_count, x, k, factor, y, scale, count);
}
void response_terms(const float* dy, const float* y, const float* scale, float* ratio,
                    float* scaled, std::int64_t count) {
  response_terms_loop(dy, y, scale, ratio, scaled, count);
}
void response_gradient(const float* const* rows, std::int64_t row_count, const float* scaled,
                       const float* x, float factor, float* dx, std::int64_t count) {
  response_gradient_loop(rows, row_count, scaled, x, factor, dx, count);
}
#if HWY_TARGET != HWY_SCALAR
/// Every second number from `from` on.
template <class D>
hn::Vec<D> load_even(D d, const float* from) {
  return hn::ConcatEven(d, hn::LoadU(d, from + hn::Lanes(d)), hn::LoadU(d, from));
}
#endif

template <class Load>
void largest_of_loaded(const Load& load, std::int64_t taps, const std::int32_t* first, float* most,
                       std::int32_t* which, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<std::int32_t> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += lanes) {
    auto best = hn::Set(d, -std::numeric_limits<float>::infinity());
    auto best_tap = hn::LoadU(di, first + i);
    for (std::int64_t k = 0; k < taps; ++k) {
      const auto value = load(d, i, k);
      const auto is_larger = hn::Or(hn::Gt(value, best), hn::IsNaN(value));
      best = hn::IfThenElse(is_larger, value, best);
      best_tap = hn::IfThenElse(hn::RebindMask(di, is_larger),
                                hn::Set(di, static_cast<std::int32_t>(k)), best_tap);
    }
    hn::StoreU(best, d, most + i);
    hn::StoreU(best_tap, di, which + i);
  }
}

void largest_of_taps(const float* x, std::int64_t taps, std::int64_t dilation, std::int64_t stride,
                     const std::int32_t* first, float* most, std::int32_t* which,
                     std::int64_t count) {
  if (stride == 1) {
    return largest_of_loaded(
        [=](auto d, std::int64_t i, std::int64_t k) { return hn::LoadU(d, x + i + k * dilation); },
        taps, first, most, which, count);
  }
#if HWY_TARGET != HWY_SCALAR
  if (stride == 2) {
    return largest_of_loaded([=](auto d, std::int64_t i,
                                 std::int64_t k) { return load_even(d, x + 2 * i + k * dilation); },
                             taps, first, most, which, count);
  }
#endif
  largest_of_taps_loop(x, taps, dilation, stride, first, most, which, count);
}
void larger_row(const float* x, const std::int32_t* taps, std::int32_t before, float* most,
                std::int32_t* which, std::int64_t count) {
  larger_row_loop(x, taps, before, most, which, count);
}
void narrow(const std::int32_t* numbers, std::uint8_t* bytes, std::int64_t count) {
  narrow_loop<float>(numbers, bytes, count);
}
void gather_taps(const float* x, const std::int32_t* places, const float* weights,
                 std::int64_t taps, float* y, std::int64_t count) {
  gather_taps_loop(x, places, weights, taps, y, count);
}

template <std::size_t... kinds>
VectorLoops<float> loops(std::index_sequence<kinds...>) {
  return {.stream = stream,
          .apply = {apply<static_cast<UnaryKind>(kinds)>...},
          .gradient = {gradient<static_cast<UnaryKind>(kinds)>...},
          .maximum = maximum,
          .exp_shifted = exp_shifted,
          .row_powers = row_powers,
          .dot = dot,
          .sum = sum,
          .moments = moments,
          .with_normalized = with_normalized,
          .line = line,
          .line_and_moments = line_and_moments,
          .line_while_fetching = line_while_fetching,
          .centred = centred,
          .centred_and_sums = centred_and_sums,
          .add_parameters = add_parameters,
          .norm_gradient_rows = norm_gradient_rows,
          .norm_row_sums = norm_row_sums,
          .plane_sums = plane_sums,
          .plane_gradient = plane_gradient,
          .plane_gradient_and_sums = plane_gradient_and_sums,
          .add_channel_rows = add_channel_rows,
          .channel_lines = channel_lines,
          .drop = drop,
          .keep = keep,
          .prelu = prelu,
          .prelu_gradient = prelu_gradient,
          .softmax_gradient = softmax_gradient,
          .softmax_gradient_rows = softmax_gradient_rows,
          .log_softmax_gradient = log_softmax_gradient,
          .add_row = add_row,
          .add_distant_row = add_distant_row,
          .copy_and_larger = copy_and_larger,
          .multiply = multiply,
          .subtract = subtract,
          .add_products = add_products,
          .product_gradients = product_gradients,
          .factor_gradients = factor_gradients,
          .factor_gradient = factor_gradient,
          .exp_columns = exp_columns,
          .softmax_gradient_columns = softmax_gradient_columns,
          .log_softmax_gradient_columns = log_softmax_gradient_columns,
          .stretch_moments = stretch_moments,
          .stretch_products = stretch_products,
          .stretch_lines = stretch_lines,
          .stretch_gradients = stretch_gradients,
          .add_scaled = add_scaled,
          .respond = respond,
          .response_terms = response_terms,
          .response_gradient = response_gradient,
          .largest_of_taps = largest_of_taps,
          .larger_row = larger_row,
          .narrow = narrow,
          .gather_taps = gather_taps};
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
