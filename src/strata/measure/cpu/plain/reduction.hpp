// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/plain/loops.hpp"

namespace strata::cpu_training::plain {

/// The axes of a tensor that a reduction keeps, and those along which it adds up; the gradient of
/// whatever is broadcast is such a sum.
struct ReducedAxes {
  Sizes kept, kept_strides;  // of the results, and where the first number of each lies
  Sizes reduced, reduced_strides;

  /// `result_strides`: of the results along the axes of the tensor, 0 along reduced ones.
  ReducedAxes(const Sizes& shape, const Sizes& result_strides) {
    const Sizes strides = strides_of(shape);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool is_kept = result_strides[axis] != 0;
      (is_kept ? kept : reduced).push_back(shape[axis]);
      (is_kept ? kept_strides : reduced_strides).push_back(strides[axis]);
    }
  }

  std::int64_t results() const { return product_of(kept); }
  std::int64_t terms() const { return product_of(reduced); }
  /// The place of a result's first number.
  std::int64_t first(std::int64_t result) const { return offset_of(result, kept, kept_strides); }

  /// Calls f(place) for every number of the result whose first one lies at `first`, in order.
  template <class F>
  void for_each_term(std::int64_t first, const F& f) const {
    const std::int64_t length = reduced.empty() ? 1 : reduced.back();
    const std::int64_t step = last_stride(reduced_strides);
    Sizes outer = reduced;
    if (!outer.empty()) outer.back() = 1;
    for (std::int64_t row = 0; row < product_of(outer); ++row) {
      const std::int64_t begin = first + offset_of(row, outer, reduced_strides);
      for (std::int64_t i = 0; i < length; ++i) f(begin + i * step);
    }
  }
};

/// results[r] = Σ term(place), in fp64 as there may be many.
template <class T, class Term>
void sum_terms(const ReducedAxes& axes, T* results, const Term& term) {
  parallel_for(axes.results(), axes.terms(), [&](std::int64_t result) {
    double sum = 0;
    axes.for_each_term(axes.first(result),
                       [&](std::int64_t place) { sum += static_cast<double>(term(place)); });
    results[result] = static_cast<T>(sum);
  });
}

}  // namespace strata::cpu_training::plain
