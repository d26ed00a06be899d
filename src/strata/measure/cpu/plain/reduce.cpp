// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/reduction.hpp"

#include <algorithm>
#include <cmath>

namespace strata::cpu_training::plain {
namespace {

Sizes result_strides(const Reduce& op, const BoundTensor& x) {
  Sizes kept = x.shape;
  if (op.axes.empty()) kept = Sizes(x.axes(), 1);
  for (const std::int64_t axis : op.axes) kept[normal_axis(axis, x.axes())] = 1;
  return broadcast_strides(kept, x.shape);
}

template <class T>
T reduced_number(ReduceKind kind, const ReducedAxes& axes, std::int64_t first, const T* x) {
  double total = kind == ReduceKind::product ? 1 : 0;
  if (kind == ReduceKind::maximum || kind == ReduceKind::minimum) {
    total = static_cast<double>(x[first]);
  }
  axes.for_each_term(first, [&](std::int64_t place) {
    const auto number = static_cast<double>(x[place]);
    switch (kind) {
      case ReduceKind::sum:
      case ReduceKind::mean: total += number; break;
      case ReduceKind::l2: total += number * number; break;
      case ReduceKind::product: total *= number; break;
      case ReduceKind::maximum: total = std::max(total, number); break;
      case ReduceKind::minimum: total = std::min(total, number); break;
    }
  });
  if (kind == ReduceKind::mean) total /= static_cast<double>(axes.terms());
  return static_cast<T>(kind == ReduceKind::l2 ? std::sqrt(total) : total);
}

/// The product of all numbers of a result but the one at `own`: y / x where x is not 0.
template <class T>
T product_of_others(const ReducedAxes& axes, std::int64_t first, std::int64_t own, const T* x) {
  T product = 1;
  axes.for_each_term(first, [&](std::int64_t place) {
    if (place != own) product *= x[place];
  });
  return product;
}

/// What the gradient of one result is multiplied with for the number at `place`.
template <class T>
T reduce_slope(ReduceKind kind, const ReducedAxes& axes, std::int64_t first, std::int64_t place,
               const T* x, T y) {
  switch (kind) {
    case ReduceKind::sum: return T(1);
    case ReduceKind::mean: return T(1) / static_cast<T>(axes.terms());
    case ReduceKind::l2: return x[place] / y;
    case ReduceKind::maximum:
    case ReduceKind::minimum: return T(x[place] == y);
    case ReduceKind::product:
      return x[place] != T(0) ? y / x[place] : product_of_others(axes, first, place, x);
  }
  return T(0);
}

template <class T>
KernelPair reduce_kernels(const Reduce& op, const NodeContext& context) {
  const ReducedAxes axes(context.input().shape, result_strides(op, context.input()));
  const ReduceKind kind = op.kind;
  const bool is_sum = kind == ReduceKind::sum || kind == ReduceKind::mean;
  const auto forward = [=](const NodeMemory& m) {
    const T* const x = numbers<T>(m.inputs[0]);
    T* const y = numbers<T>(m.outputs[0]);
    parallel_for(axes.results(), axes.terms(), [&](std::int64_t result) {
      y[result] = reduced_number(kind, axes, axes.first(result), x);
    });
  };
  const auto backward = [=](const NodeMemory& m) {
    T* const dx = numbers<T>(m.input_gradients[0]);
    if (dx == nullptr) return;
    const T* const x = is_sum ? nullptr : numbers<T>(m.inputs[0]);
    const T* const y = is_sum ? nullptr : numbers<T>(m.outputs[0]);
    const T* const dy = numbers<T>(m.output_gradients[0]);
    parallel_for(axes.results(), axes.terms(), [&](std::int64_t result) {
      const std::int64_t first = axes.first(result);
      axes.for_each_term(first, [&](std::int64_t place) {
        const T slope = reduce_slope(kind, axes, first, place, x, y != nullptr ? y[result] : T(0));
        dx[place] = dy[result] * slope;
      });
    });
  };
  return {
      .forward = forward, .backward = backward, .needs = {.inputs = !is_sum, .outputs = !is_sum}};
}

}  // namespace

KernelPairOrReason make_kernels(const Reduce& op, const NodeContext& context) {
  return with_real(context.input().dtype,
                   [&](auto zero) { return reduce_kernels<decltype(zero)>(op, context); });
}

}  // namespace strata::cpu_training::plain
