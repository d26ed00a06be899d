// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/number_rows.hpp"
#include "strata/measure/cpu/training/vector_loops.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace strata::cpu_training {
namespace {

/// A tensor as [outer, length, inner] with the softmax along `length`.
struct Rows {
  std::int64_t outer = 1, length = 1, inner = 1;

  Rows(const BoundTensor& x, std::int64_t axis) {
    const std::size_t place = normal_axis(axis, x.axes());
    for (std::size_t i = 0; i < x.axes(); ++i) {
      (i < place ? outer : i == place ? length : inner) *= x[i];
    }
  }
  std::int64_t count() const { return outer * inner; }
  std::int64_t start(std::int64_t row) const { return row / inner * length * inner + row % inner; }
  std::int64_t least() const { return std::max<std::int64_t>(1, numbers_per_part / length); }
};

/// Calls f(row, x, …) with rows side by side: where they lie, or copied out and back where numbers
/// of a row lie apart. `room` has a place for each pointer.
template <class T>
void gather_row(const Rows& rows, std::int64_t row, const T* from, T* to) {
  const T* const x = from + rows.start(row);
  for (std::int64_t i = 0; i < rows.length; ++i) to[i] = x[i * rows.inner];
}
template <class T>
void scatter_row(const Rows& rows, std::int64_t row, const T* from, T* to) {
  T* const y = to + rows.start(row);
  for (std::int64_t i = 0; i < rows.length; ++i) y[i * rows.inner] = from[i];
}

/// y = exp(x − max x); returns their sum and leaves the maximum.
template <class T>
T powers_of(const T* x, T* y, std::int64_t length, T& most) {
  const VectorLoops<T>& loops = vector_loops<T>();
  most = loops.maximum(x, length);
  return loops.exp_shifted(x, most, y, length);
}

template <class T>
void softmax_row(const T* x, T* y, std::int64_t length, bool is_log) {
  T most = 0;
  const T sum = powers_of(x, y, length, most);
  if (is_log) {
    const T shift = most + std::log(sum);
    for (std::int64_t i = 0; i < length; ++i) y[i] = x[i] - shift;
  } else {
    const T factor = T(1) / sum;
    for (std::int64_t i = 0; i < length; ++i) y[i] *= factor;
  }
}

template <class T>
void softmax_gradient_row(const T* y, const T* dy, T* dx, std::int64_t length, bool is_log,
                          T* room) {
  const VectorLoops<T>& loops = vector_loops<T>();
  if (is_log) {
    const T sum = loops.sum(dy, length);
    loops.exp_shifted(y, T(0), room, length);
    for (std::int64_t i = 0; i < length; ++i) dx[i] = dy[i] - room[i] * sum;
  } else {
    const T sum = loops.dot(y, dy, length);
    for (std::int64_t i = 0; i < length; ++i) dx[i] = y[i] * (dy[i] - sum);
  }
}

template <class T>
KernelsOrReason softmax_kernels(const Softmax& op, const Setting& s) {
  const Rows rows(s.input(), op.axis);
  const bool is_log = op.log;
  const Workers& workers = s.workers;
  const auto forward = [=, &workers](const NodeMemory& m) {
    const T* const x = real<T>(m.inputs[0]);
    T* const y = real<T>(m.outputs[0]);
    workers.ranges(rows.count(), rows.least(), [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> room(static_cast<std::size_t>(rows.inner == 1 ? 0 : 2 * rows.length));
      T *const from = room.data(), *const to = room.data() + (rows.inner == 1 ? 0 : rows.length);
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t place = rows.start(row);
        if (rows.inner == 1) {
          softmax_row(x + place, y + place, rows.length, is_log);
        } else {
          gather_row(rows, row, x, from);
          softmax_row(from, to, rows.length, is_log);
          scatter_row(rows, row, to, y);
        }
      }
    });
  };
  const auto backward = [=, &workers](const NodeMemory& m) {
    T* const dx = real<T>(m.input_gradients[0]);
    if (dx == nullptr) return;
    const T *const y = real<T>(m.outputs[0]), *const dy = real<T>(m.output_gradients[0]);
    workers.ranges(rows.count(), rows.least(), [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> room(static_cast<std::size_t>(4 * rows.length));
      T* const a = room.data();
      T *const b = a + rows.length, *const c = b + rows.length, *const d = c + rows.length;
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t place = rows.start(row);
        if (rows.inner == 1) {
          softmax_gradient_row(y + place, dy + place, dx + place, rows.length, is_log, d);
        } else {
          gather_row(rows, row, y, a);
          gather_row(rows, row, dy, b);
          softmax_gradient_row(a, b, c, rows.length, is_log, d);
          scatter_row(rows, row, c, dx);
        }
      }
    });
  };
  return kernels_by({forward, backward, {.outputs = true}}, s);
}

/// Forward keeps the probabilities; backward takes 1 from that of the target.
template <class T>
KernelsOrReason cross_entropy_kernels(const SoftmaxCrossEntropy& op, const Setting& s) {
  const Rows rows(s.input(), op.axis);
  const Workers& workers = s.workers;
  const DType target_type = s.input(1).dtype;
  const auto target_of = [=](const NodeMemory& m, std::int64_t row) {
    const std::int64_t target = whole_number(target_type, m.inputs[1], row);
    if (target < 0 || target >= rows.length) {
      fail(ErrorKind::input, "target {} of {} classes", target, rows.length);
    }
    return target;
  };
  const auto forward = [=, &workers](const NodeMemory& m) {
    const T* const x = real<T>(m.inputs[0]);
    T* const saved = real<T>(m.saved);
    std::vector<double> sums(static_cast<std::size_t>(workers.count()));
    workers.parts(rows.count(), rows.least(), [&](auto part, auto begin, auto end) {
      std::vector<T> room(static_cast<std::size_t>(2 * rows.length));
      T *const from = room.data(), *const powers = from + rows.length;
      for (std::int64_t row = begin; row < end; ++row) {
        if (rows.inner > 1) gather_row(rows, row, x, from);
        const T* const logits = rows.inner > 1 ? from : x + rows.start(row);
        T most = 0;
        const T sum = powers_of(logits, powers, rows.length, most);
        sums[static_cast<std::size_t>(part)] +=
            static_cast<double>(std::log(sum) + most - logits[target_of(m, row)]);
        if (saved == nullptr) continue;
        for (std::int64_t i = 0; i < rows.length; ++i) powers[i] /= sum;
        scatter_row(rows, row, powers, saved);
      }
    });
    double total = 0;
    for (const double sum : sums) total += sum;
    *real<T>(m.outputs[0]) = static_cast<T>(total / static_cast<double>(rows.count()));
  };
  const auto backward = [=, &workers](const NodeMemory& m) {
    T* const dx = real<T>(m.input_gradients[0]);
    if (dx == nullptr) return;
    const T* const saved = real<T>(m.saved);
    const T factor = *real<T>(m.output_gradients[0]) / static_cast<T>(rows.count());
    workers.ranges(rows.outer, std::max<std::int64_t>(1, rows.least() / rows.inner),
                   [&](std::int64_t begin, std::int64_t end) {
                     const std::int64_t size = rows.length * rows.inner;
                     for (std::int64_t i = begin * size; i < end * size; ++i) {
                       dx[i] = saved[i] * factor;
                     }
                     for (std::int64_t row = begin * rows.inner; row < end * rows.inner; ++row) {
                       dx[rows.start(row) + target_of(m, row) * rows.inner] -= factor;
                     }
                   });
  };
  const std::int64_t saved = s.wants(0) ? s.input().bytes : 0;
  return kernels_by({forward, backward, {.inputs = true, .saved_bytes = saved}}, s);
}

template <class T>
KernelsOrReason squared_error_kernels(const Setting& s) {
  const std::int64_t count = s.input().elements;
  const Workers& workers = s.workers;
  const auto forward = [=, &workers](const NodeMemory& m) {
    const T *const a = real<T>(m.inputs[0]), *const b = real<T>(m.inputs[1]);
    std::vector<double> sums(static_cast<std::size_t>(workers.count()));
    workers.parts(count, numbers_per_part, [&](auto part, auto begin, auto end) {
      // Pieces keep the sums of fp32 short.
      for (std::int64_t at = begin; at < end; at += 4096) {
        const std::int64_t length = std::min<std::int64_t>(4096, end - at);
        sums[static_cast<std::size_t>(part)] += static_cast<double>(
            one_sum_loop<T>(length, [p = a + at, q = b + at](auto k, auto& sum) {
              typename decltype(k)::Number x, y;
              k.load(x, p);
              k.load(y, q);
              sum += (x - y) * (x - y);
            }));
      }
    });
    double total = 0;
    for (const double sum : sums) total += sum;
    *real<T>(m.outputs[0]) = static_cast<T>(total / static_cast<double>(count));
  };
  const auto backward = [=, &workers](const NodeMemory& m) {
    const T *const a = real<T>(m.inputs[0]), *const b = real<T>(m.inputs[1]);
    const T factor = T(2) * *real<T>(m.output_gradients[0]) / static_cast<T>(count);
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      T* const dx = real<T>(m.input_gradients[side]);
      if (dx == nullptr) continue;
      const T signed_factor = side == 0 ? factor : -factor;
      workers.ranges(count, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) dx[i] = signed_factor * (a[i] - b[i]);
      });
    }
  };
  return kernels_by({forward, backward, {.inputs = true}}, s);
}

}  // namespace

KernelsOrReason make_kernels(const Softmax& op, const Setting& s) {
  return with_real(s.input().dtype,
                   [&](auto zero) { return softmax_kernels<decltype(zero)>(op, s); });
}

KernelsOrReason make_kernels(const SoftmaxCrossEntropy& op, const Setting& s) {
  return with_real(s.input().dtype,
                   [&](auto zero) { return cross_entropy_kernels<decltype(zero)>(op, s); });
}

KernelsOrReason make_kernels(const SquaredError&, const Setting& s) {
  return with_real(s.input().dtype,
                   [&](auto zero) { return squared_error_kernels<decltype(zero)>(s); });
}

}  // namespace strata::cpu_training
