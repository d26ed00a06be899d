// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/piece.hpp"
#include "strata/measure/cpu/training/reduction.hpp"
#include "strata/measure/cpu/training/result_stream.hpp"

#include <cmath>
#include <optional>

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

template <class T>
KernelsOrReason reduce_kernels(const Reduce& op, const Setting& s) {
  const ReduceKind kind = op.kind;
  const std::int64_t results = s.output().elements;
  const ReducedAxes reduced(op, s.input());
  Sizes first_strides = strides_of(s.input().shape);  // of the first number of the same result
  for (std::size_t axis = 0; axis < first_strides.size(); ++axis) {
    if (result_strides(op, s.input())[axis] == 0) first_strides[axis] = 0;
  }
  const Walk walk(s.input().shape,
                  {strides_of(s.input().shape), result_strides(op, s.input()), first_strides});
  const T share = T(1) / static_cast<T>(s.input().elements / results);
  const Workers& workers = s.workers;
  const bool is_beyond = is_beyond_caches(s.input().bytes);
  const auto forward = [=, &workers](const NodeMemory& m) {
    const T* const x = real<T>(m.inputs[0]);
    T* const y = real<T>(m.outputs[0]);
    thread_local PieceBuffer<T> squares;
    reduce(workers, walk, 1, combine_of(kind), y, results, real<T>(m.scratch),
           [&](const Walk::Offsets& at, std::int64_t length) -> const T* {
             const T* const row = x + at[0];
             if (kind != ReduceKind::l2) return row;
             for (std::int64_t i = 0; i < length; ++i) {
               squares[static_cast<std::size_t>(i)] = row[i] * row[i];
             }
             return squares.data();
           });
    for (std::int64_t i = 0; i < results; ++i) {
      if (kind == ReduceKind::mean) y[i] *= share;
      if (kind == ReduceKind::l2) y[i] = std::sqrt(y[i]);
    }
  };
  const auto backward = [=, &workers](const NodeMemory& m) {
    if (m.input_gradients[0] == nullptr) return;
    const auto gradient_piece = [&](const Walk::Offsets& at, std::int64_t length, T* dx) {
      const bool is_plain = kind == ReduceKind::sum || kind == ReduceKind::mean;
      const T factor = kind == ReduceKind::mean ? share : T(1);
      if (is_plain && walk.step(1) == 0) {  // all of the piece belong to one result
        std::fill_n(dx, length, real<T>(m.output_gradients[0])[at[1]] * factor);
        return;
      }
      PieceBuffer<T> room_y, room_dy;
      const auto piece = [&](void* numbers, PieceBuffer<T>& room) {
        return piece_of<T>({numbers, dtype_of<T>()}, at[1], walk.step(1), length, room);
      };
      const T* const dy = piece(m.output_gradients[0], room_dy);
      const T* const y = is_plain ? dy : piece(m.outputs[0], room_y);
      if (is_plain) {
        for (std::int64_t i = 0; i < length; ++i) dx[i] = dy[i] * factor;
        return;
      }
      const T* const x = real<T>(m.inputs[0]) + at[0];
      if (kind == ReduceKind::maximum || kind == ReduceKind::minimum) {
        for (std::int64_t i = 0; i < length; ++i) {
          const T slope = dy[i];  // read in any case, so that it becomes a vector
          dx[i] = x[i] == y[i] ? slope : T(0);
        }
        return;
      }
      for (std::int64_t i = 0; i < length; ++i) dx[i] = gradient_term(kind, x[i], y[i], dy[i]);
      if (kind != ReduceKind::product) return;
      for (std::int64_t i = 0; i < length; ++i) {
        if (x[i] != T(0)) continue;
        const std::int64_t first = at[2] + i * walk.step(2);
        dx[i] = dy[i] * product_of_others(real<T>(m.inputs[0]) + first, at[0] + i - first, reduced);
      }
    };
    walk.each_part(workers, [&](std::int64_t begin, std::int64_t end) {
      std::optional<ResultStream<T>> stream;  // the gradient lies in the order of the walk
      walk.each_piece(begin, end, [&](const Walk::Offsets& at, std::int64_t length) {
        if (!stream) stream.emplace(real<T>(m.input_gradients[0]), at[0], is_beyond);
        gradient_piece(at, length, stream->next(length));
      });
    });
  };
  const bool needs_both = kind != ReduceKind::sum && kind != ReduceKind::mean;
  return kernels_by({forward,
                     backward,
                     {.inputs = needs_both,
                      .outputs = needs_both,
                      .scratch_bytes = reduction_scratch_elements(workers, results) *
                                       static_cast<std::int64_t>(sizeof(T))}},
                    s);
}

}  // namespace

KernelsOrReason make_kernels(const Reduce& op, const Setting& s) {
  if (!is_floating(s.input().dtype)) return NoKernels{"it reduces whole numbers"};
  return with_real(s.input().dtype,
                   [&](auto zero) { return reduce_kernels<decltype(zero)>(op, s); });
}

}  // namespace strata::cpu_training
