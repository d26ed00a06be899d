// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/vector_row_loops.hpp"

/// The loops as the compiler's baseline runs them.
namespace strata::cpu_training {

template <class T>
struct PlainLoops {
  template <UnaryKind kind>
  static void apply(const T* x, T* y, std::int64_t count) {
    apply_loop<kind>(x, y, count);
  }
  template <UnaryKind kind>
  static void gradient(const T* known, const T* dy, T* dx, std::int64_t count) {
    gradient_loop<kind>(known, dy, dx, count);
  }
  static T maximum(const T* x, std::int64_t count) { return maximum_loop(x, count); }
  static T exp_shifted(const T* x, T shift, T* y, std::int64_t count) {
    return exp_shifted_loop(x, shift, y, count);
  }
  static RowPowers<T> row_powers(const T* x, T* y, std::int64_t count, const T* fetched) {
    return row_powers_loop(x, y, count, fetched);
  }
  static T dot(const T* a, const T* b, std::int64_t count) { return dot_loop(a, b, count); }
  static T sum(const T* x, std::int64_t count) { return sum_loop(x, count); }
  static PairOfSums<T> moments(const T* x, T base, std::int64_t count) {
    return moments_loop(x, base, count);
  }
  static PairOfSums<T> with_normalized(const T* dy, const T* scale, const T* x, T mean, T factor,
                                       std::int64_t count) {
    return with_normalized_loop(dy, scale, x, mean, factor, count);
  }
  static void line(const T* x, T a, T b, const T* scale, const T* shift, T* y, std::int64_t count) {
    line_loop(x, a, b, scale, shift, y, count);
  }
  static PairOfSums<T> line_and_moments(const T* x, T a, T b, const T* scale, const T* shift, T* y,
                                        const NextRow<T>& next, std::int64_t count) {
    return line_and_moments_loop(x, a, b, scale, shift, y, next, count);
  }
  static void line_while_fetching(const T* x, T a, T b, const T* scale, const T* shift, T* y,
                                  const T* fetched, std::int64_t count) {
    line_while_fetching_loop(x, a, b, scale, shift, y, fetched, count);
  }
  static void centred(const GradientRow<T>& row, T* dx, std::int64_t count) {
    centred_loop(row, dx, count);
  }
  static PairOfSums<T> centred_and_sums(const GradientRow<T>& row, T* dx, const NextRow<T>& next,
                                        std::int64_t count) {
    return centred_and_sums_loop(row, dx, next, count);
  }
  static void add_parameters(const T* dy, const T* x, T mean, T factor, T* d_scale, T* d_shift,
                             std::int64_t count) {
    add_parameters_loop(dy, x, mean, factor, d_scale, d_shift, count);
  }
  static void norm_gradient_rows(const NormGradientRows<T>& rows, bool takes_mean, T* parameters) {
    norm_gradient_rows_loop(rows, takes_mean, parameters);
  }
  static void norm_row_sums(const NormGradientRows<T>& rows, bool takes_mean, T* parameters,
                            PairOfSums<T>* sums) {
    norm_row_sums_loop(rows, takes_mean, parameters, sums);
  }
  static PairOfSums<T> plane_sums(const GradientPlane<T>& plane, std::int64_t count) {
    return plane_sums_loop(plane, count);
  }
  static void plane_gradient(const PlaneGradient<T>& plane, T* dx, std::int64_t count) {
    plane_gradient_loop(plane, dx, count);
  }
  static PairOfSums<T> plane_gradient_and_sums(const PlaneGradient<T>& plane, T* dx,
                                               const GradientPlane<T>& next, std::int64_t count) {
    return plane_gradient_and_sums_loop(plane, dx, next, count);
  }
  static void add_channel_rows(const T* x, const T* dy, const RowSequences& s,
                               std::int64_t channels, bool has_base, T* sums) {
    add_channel_rows_loop(x, dy, s, channels, has_base, sums);
  }
  static void channel_lines(const T* x, const T* dy, const T* lines, T* y, std::int64_t rows,
                            std::int64_t channels) {
    channel_lines_loop(x, dy, lines, y, rows, channels);
  }
  static void drop(const T* x, std::uint32_t key, std::uint64_t first, std::uint32_t threshold,
                   T scale, T* y, std::uint8_t* mask, std::int64_t count) {
    drop_loop(x, key, first, threshold, scale, y, mask, count);
  }
  static void keep(const T* dy, const std::uint8_t* mask, T scale, T* dx, std::int64_t count) {
    keep_loop(dy, mask, scale, dx, count);
  }
  static void prelu(const T* x, T slope, T* y, std::int64_t count) {
    prelu_loop(x, slope, y, count);
  }
  static T prelu_gradient(const T* x, const T* dy, T slope, T* dx, std::int64_t count) {
    return prelu_gradient_loop(x, dy, slope, dx, count);
  }
  static void softmax_gradient(const T* y, const T* dy, T sum, T* dx, std::int64_t count) {
    softmax_gradient_loop(y, dy, sum, dx, count);
  }
  static void softmax_gradient_rows(const T* y, const T* dy, T* dx, std::int64_t rows,
                                    std::int64_t length) {
    softmax_gradient_rows_loop(y, dy, dx, rows, length);
  }
  static void log_softmax_gradient(const T* y, const T* dy, T sum, T* dx, std::int64_t count) {
    log_softmax_gradient_loop(y, dy, sum, dx, count);
  }
  static void add_row(const T* x, T* total, std::int64_t count) { add_row_loop(x, total, count); }
  static void copy_and_larger(const T* x, T* to, T* most, std::int64_t count) {
    copy_and_larger_loop(x, to, most, count);
  }
  static void multiply(const T* a, const T* b, T* y, std::int64_t count) {
    multiply_loop(a, b, y, count);
  }
  static void subtract(const T* a, const T* b, T* y, std::int64_t count) {
    subtract_loop(a, b, y, count);
  }
  static void add_products(const T* a, const T* b, T* total, std::int64_t count) {
    add_products_loop(a, b, total, count);
  }
  static void product_gradients(const T* dy, const T* a, const T* b, T* da, T* db,
                                std::int64_t count) {
    product_gradients_loop(dy, a, b, da, db, count);
  }
  static void factor_gradients(const T* dy, const T* factors, const T* x, T* dx, T* sums,
                               std::int64_t count) {
    factor_gradients_loop(dy, factors, x, dx, sums, count);
  }
  static T factor_gradient(const T* dy, T factor, const T* x, T* dx, std::int64_t count) {
    return factor_gradient_loop(dy, factor, x, dx, count);
  }
  static void add_distant_row(const T* x, T* total, std::int64_t count) {
    add_distant_row_loop(x, total, count);
  }
  static void exp_columns(const T* x, const T* shifts, T* y, T* sums, std::int64_t count) {
    exp_columns_loop(x, shifts, y, sums, count);
  }
  static void softmax_gradient_columns(const T* y, const T* dy, const T* sums, T* dx,
                                       std::int64_t count) {
    softmax_gradient_columns_loop(y, dy, sums, dx, count);
  }
  static void log_softmax_gradient_columns(const T* y, const T* dy, const T* sums, T* dx,
                                           std::int64_t count) {
    log_softmax_gradient_columns_loop(y, dy, sums, dx, count);
  }
  static void stretch_moments(const T* x, const Stretches& s, const T* base, T* sums) {
    stretch_moments_loop(x, s, base, sums);
  }
  static void stretch_products(const T* dy, const T* x, const Stretches& s, const T* base,
                               T* sums) {
    stretch_products_loop(dy, x, s, base, sums);
  }
  static void stretch_lines(const T* x, const Stretches& s, const T* a, const T* b, T* y) {
    stretch_lines_loop(x, s, a, b, y);
  }
  static void stretch_gradients(const T* dy, const T* x, const Stretches& s,
                                const StretchGradients<T>& of, T* dx) {
    stretch_gradients_loop(dy, x, s, of, dx);
  }
  static void add_scaled(const T* x, T factor, T* total, std::int64_t count) {
    add_scaled_loop(x, factor, total, count);
  }
  static void respond(const T* const* rows, std::int64_t row_count, const T* x, T k, T factor, T* y,
                      T* scale, std::int64_t count) {
    respond_loop(rows, row_count, x, k, factor, y, scale, count);
  }
  static void response_terms(const T* dy, const T* y, const T* scale, T* ratio, T* scaled,
                             std::int64_t count) {
    response_terms_loop(dy, y, scale, ratio, scaled, count);
  }
  static void response_gradient(const T* const* rows, std::int64_t row_count, const T* scaled,
                                const T* x, T factor, T* dx, std::int64_t count) {
    response_gradient_loop(rows, row_count, scaled, x, factor, dx, count);
  }
  static void largest_of_taps(const T* x, std::int64_t taps, std::int64_t dilation,
                              std::int64_t stride, const std::int32_t* first, T* most,
                              std::int32_t* which, std::int64_t count) {
    largest_of_taps_loop(x, taps, dilation, stride, first, most, which, count);
  }
  static void larger_row(const T* x, const std::int32_t* taps, std::int32_t before, T* most,
                         std::int32_t* which, std::int64_t count) {
    larger_row_loop(x, taps, before, most, which, count);
  }
  static void narrow(const std::int32_t* numbers, std::uint8_t* bytes, std::int64_t count) {
    narrow_loop<T>(numbers, bytes, count);
  }
  static void gather_taps(const T* x, const std::int32_t* places, const T* weights,
                          std::int64_t taps, T* y, std::int64_t count) {
    gather_taps_loop(x, places, weights, taps, y, count);
  }

  template <std::size_t... kinds>
  static VectorLoops<T> table(std::index_sequence<kinds...>) {
    return {.stream = nullptr,
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
};

}  // namespace strata::cpu_training
