// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/reduction.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"

#include <cmath>
#include <cstring>

namespace strata::cpu_training {
namespace {

Combine combine_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::maximum: return Combine::maximum;
    case ReduceKind::minimum: return Combine::minimum;
    case ReduceKind::product: return Combine::multiply;
    default: return Combine::add;
  }
}

/// Strides of the result along the axes of X: 0 along those that are reduced.
Sizes result_strides(const Reduce& op, const BoundTensor& x) {
  Sizes kept = x.shape;
  if (op.axes.empty()) {
    for (std::int64_t& extent : kept) extent = 1;
  }
  for (const std::int64_t axis : op.axes) kept[normal_axis(axis, x.axes())] = 1;
  return broadcast_strides(kept, x.shape);
}

/// The axes of X that are reduced: where the numbers of one result lie, from the first of them.
struct ReducedAxes {
  Sizes extents, strides;

  ReducedAxes(const Reduce& op, const BoundTensor& x) {
    const Sizes all = strides_of(x.shape);
    const Sizes results = result_strides(op, x);
    for (std::size_t axis = 0; axis < x.axes(); ++axis) {
      if (results[axis] != 0 || x[axis] == 1) continue;
      extents.push_back(x[axis]);
      strides.push_back(all[axis]);
    }
  }
};

/// All numbers of a result but the one at `own` multiplied: what y / x is where x is not 0.
template <class T>
T product_of_others(const T* numbers, std::int64_t own, const ReducedAxes& axes) {
  Sizes index = axes.extents;
  for (std::int64_t& at : index) at = 0;
  T product = 1;
  std::int64_t place = 0;
  for (;;) {
    if (place != own) product *= numbers[place];
    if (product == T(0)) return product;
    std::size_t axis = index.size();
    for (; axis > 0; --axis) {
      place += axes.strides[axis - 1];
      if (++index[axis - 1] < axes.extents[axis - 1]) break;
      place -= axes.strides[axis - 1] * axes.extents[axis - 1];
      index[axis - 1] = 0;
    }
    if (axis == 0) return product;
  }
}

template <class T>
T gradient_term(ReduceKind kind, T x, T y, T dy) {
  switch (kind) {
    case ReduceKind::product: return dy * y / x;  // unless x is 0
    case ReduceKind::l2: return dy / y * x;
    default: return dy;
  }
}

/// What all passes of one node know. Operands of the walk: X, the result, and the first number of
/// the same result.
struct ReducePlan {
  ReduceKind kind;
  ReducedAxes reduced;
  Walk walk;
  std::int64_t results = 0;
  double share = 1;        // of one number in its result, for means
  bool is_beyond = false;  // the gradient

  bool is_sum() const { return kind == ReduceKind::sum || kind == ReduceKind::mean; }
  bool is_one_per_row() const { return walk.step(1) == 0; }
};

template <class T>
void reduce_forward(const ReducePlan& plan, const Workers& workers, const NodeMemory& m) {
  const T* const x = real<T>(m.inputs[0]);
  T* const y = real<T>(m.outputs[0]);
  Walk walk = plan.walk;
  walk.set_longest_piece(longest_result_piece<T>(false));  // nothing is written along the way
  if (plan.kind == ReduceKind::l2) {
    const VectorLoops<T>& loops = vector_loops<T>();
    const auto add_squares = [&](const Walk::Offsets& at, std::int64_t length, T* to) {
      const T* const row = x + at[0];
      if (plan.is_one_per_row()) {
        *to += loops.dot(row, row, length);
      } else {
        loops.add_products(row, row, to, length);
      }
    };
    reduce_parts(workers, walk, 1, Combine::add, y, plan.results, real<T>(m.scratch),
                 [&] { return add_squares; });
  } else {
    reduce(workers, walk, 1, combine_of(plan.kind), y, plan.results, real<T>(m.scratch),
           [x](const Walk::Offsets& at, std::int64_t) -> const T* { return x + at[0]; });
  }
  const T share = static_cast<T>(plan.share);
  for (std::int64_t i = 0; i < plan.results; ++i) {
    if (plan.kind == ReduceKind::mean) y[i] *= share;
    if (plan.kind == ReduceKind::l2) y[i] = std::sqrt(y[i]);
  }
}

/// dx of numbers that belong to one result each, or all of them to the same.
template <class T, class OfResult>
void gradient_of_row(ReduceKind kind, const T* x, const OfResult& y, const OfResult& dy, T* dx,
                     std::int64_t count) {
  if (kind == ReduceKind::maximum || kind == ReduceKind::minimum) {
    return while_asking(
        count,
        [=](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const T slope = dy[i];  // read in any case, so that it becomes a vector
            dx[i] = x[i] == y[i] ? slope : T(0);
          }
        },
        x);
  }
  for (std::int64_t i = 0; i < count; ++i) dx[i] = gradient_term<T>(kind, x[i], y[i], dy[i]);
}

/// The same number at every place.
template <class T>
struct SameNumber {
  T number;
  T operator[](std::int64_t) const { return number; }
};

template <class T>
void gradient_of_sum(const ReducePlan& plan, const T* dy, T* dx, std::int64_t count) {
  const T factor = plan.kind == ReduceKind::mean ? static_cast<T>(plan.share) : T(1);
  if (plan.is_one_per_row()) return fill_numbers(dx, count, *dy * factor);
  if (plan.kind == ReduceKind::sum) {
    std::memcpy(dx, dy, static_cast<std::size_t>(count) * sizeof(T));
    return;
  }
#pragma GCC unroll 8
  for (std::int64_t i = 0; i < count; ++i) dx[i] = dy[i] * factor;
}

template <class T>
void gradient_of_piece(const ReducePlan& plan, const NodeMemory& m, const Walk::Offsets& at,
                       std::int64_t length, T* dx) {
  const T* const dy = real<T>(m.output_gradients[0]) + at[1];
  if (plan.is_sum()) return gradient_of_sum(plan, dy, dx, length);
  const T *const x = real<T>(m.inputs[0]) + at[0], *const y = real<T>(m.outputs[0]) + at[1];
  if (plan.is_one_per_row()) {
    gradient_of_row(plan.kind, x, SameNumber<T>{*y}, SameNumber<T>{*dy}, dx, length);
  } else {
    gradient_of_row(plan.kind, x, y, dy, dx, length);
  }
  if (plan.kind != ReduceKind::product) return;
  for (std::int64_t i = 0; i < length; ++i) {
    if (x[i] != T(0)) continue;
    const std::int64_t first = at[2] + i * plan.walk.step(2);
    dx[i] = dy[i * plan.walk.step(1)] *
            product_of_others(real<T>(m.inputs[0]) + first, at[0] + i - first, plan.reduced);
  }
}

template <class T>
void reduce_backward(const ReducePlan& plan, const Workers& workers, const NodeMemory& m) {
  T* const dx = real<T>(m.input_gradients[0]);
  if (dx == nullptr) return;
  plan.walk.each_part(workers, [&](std::int64_t begin, std::int64_t end) {
    ResultPieces<T> pieces(dx, plan.is_beyond);  // the gradient lies in the order of the walk
    plan.walk.each_piece(begin, end, [&](const Walk::Offsets& at, std::int64_t length) {
      gradient_of_piece(plan, m, at, length, pieces.next(at[0], length));
    });
  });
}

template <class T>
KernelsOrReason reduce_kernels(const Reduce& op, const Setting& s) {
  const Sizes all = strides_of(s.input().shape), to_results = result_strides(op, s.input());
  Sizes of_first = all;
  for (std::size_t axis = 0; axis < all.size(); ++axis) {
    if (to_results[axis] == 0) of_first[axis] = 0;
  }
  ReducePlan plan{.kind = op.kind,
                  .reduced = ReducedAxes(op, s.input()),
                  .walk = Walk(s.input().shape, {all, to_results, of_first}),
                  .results = s.output().elements,
                  .is_beyond = is_beyond_caches(s.input().bytes)};
  plan.walk.set_longest_piece(longest_result_piece<T>(plan.is_beyond));
  plan.share = 1 / static_cast<double>(s.input().elements / plan.results);
  const Workers& workers = s.workers;
  return kernels_by({[=, &workers](const NodeMemory& m) { reduce_forward<T>(plan, workers, m); },
                     [=, &workers](const NodeMemory& m) { reduce_backward<T>(plan, workers, m); },
                     {.inputs = !plan.is_sum(),
                      .outputs = !plan.is_sum(),
                      .scratch_bytes = reduction_scratch_elements(workers, plan.results) *
                                       static_cast<std::int64_t>(sizeof(T))}},
                    s);
}

}  // namespace

KernelsOrReason make_kernels(const Reduce& op, const Setting& s) {
  return with_real(s.input().dtype,
                   [&](auto zero) { return reduce_kernels<decltype(zero)>(op, s); });
}

}  // namespace strata::cpu_training
