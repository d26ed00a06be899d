// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/number_rows.hpp"
#include "strata/measure/cpu/training/result_stream.hpp"
#include "strata/measure/cpu/training/softmax_columns.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace strata::cpu_training {
namespace {

/// Rows side by side that are worked on one after the other: while one is computed the next is
/// asked for.
constexpr std::int64_t fetched_at_once = 256;

/// y = exp(x − max x); returns their sum and leaves the maximum. `next` is fetched meanwhile.
template <class T>
T powers_of(const T* x, T* y, std::int64_t length, const T* next, T& most) {
  const VectorLoops<T>& loops = vector_loops<T>();
  most = loops.maximum(x, length);
  T sum = 0;
  for (std::int64_t at = 0; at < length; at += fetched_at_once) {
    const std::int64_t count = std::min(fetched_at_once, length - at);
    if (next != nullptr) fetch(next + at, count);
    sum += loops.exp_shifted(x + at, most, y + at, count);
  }
  return sum;
}

/// `room` holds a row.
template <class T>
void softmax_row(const T* x, std::int64_t length, bool is_log, const T* next, T* room,
                 ResultStream<T>& result) {
  const VectorLoops<T>& loops = vector_loops<T>();
  T most = 0;
  const T sum = powers_of(x, room, length, next, most);
  const T factor = is_log ? T(1) : T(1) / sum;
  const T shift = is_log ? -(most + std::log(sum)) : T(0);
  const T* const from = is_log ? x : room;
  result.pieces(length, [&](std::int64_t at, std::int64_t count, T* y) {
    loops.line(from + at, factor, shift, nullptr, nullptr, y, count);
  });
}

template <class T>
void softmax_gradient_row(const T* y, const T* dy, std::int64_t length, bool is_log, bool has_next,
                          ResultStream<T>& result) {
  const VectorLoops<T>& loops = vector_loops<T>();
  const T sum = is_log ? loops.sum(dy, length) : loops.dot(y, dy, length);
  const auto gradient = is_log ? loops.log_softmax_gradient : loops.softmax_gradient;
  result.pieces(length, [&](std::int64_t at, std::int64_t count, T* dx) {
    if (has_next) {
      fetch(y + length + at, count);
      fetch(dy + length + at, count);
    }
    gradient(y + at, dy + at, sum, dx, count);
  });
}

template <class T>
KernelsOrReason softmax_kernels(const Softmax& op, const Setting& s) {
  const SoftmaxRows rows(s.input(), op.axis);
  const bool is_log = op.log;
  const Workers& workers = s.workers;
  const bool is_beyond = is_beyond_caches(s.output().bytes);
  const auto forward = [=, &workers](const NodeMemory& m) {
    const T* const x = real<T>(m.inputs[0]);
    T* const y = real<T>(m.outputs[0]);
    if (rows.inner > 1) return softmax_columns(workers, rows, x, y, is_log);
    workers.ranges(rows.outer, rows.least(), [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> room(static_cast<std::size_t>(rows.length));
      ResultStream<T> result(y, begin * rows.length, is_beyond);
      for (std::int64_t row = begin; row < end; ++row) {
        const T* const from = x + row * rows.length;
        softmax_row(from, rows.length, is_log, row + 1 < end ? from + rows.length : nullptr,
                    room.data(), result);
      }
    });
  };
  const auto backward = [=, &workers](const NodeMemory& m) {
    T* const dx = real<T>(m.input_gradients[0]);
    if (dx == nullptr) return;
    const T *const y = real<T>(m.outputs[0]), *const dy = real<T>(m.output_gradients[0]);
    if (rows.inner > 1) return softmax_gradient_columns(workers, rows, y, dy, dx, is_log);
    workers.ranges(rows.outer, rows.least(), [&](std::int64_t begin, std::int64_t end) {
      ResultStream<T> result(dx, begin * rows.length, is_beyond);
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t at = row * rows.length;
        softmax_gradient_row(y + at, dy + at, rows.length, is_log, row + 1 < end, result);
      }
    });
  };
  return kernels_by({forward, backward, {.outputs = true}}, s);
}

/// Rows whose numbers lie apart, copied out and back.
template <class T>
void gather_row(const SoftmaxRows& rows, std::int64_t row, const T* from, T* to) {
  const T* const x = from + rows.start(row);
  for (std::int64_t i = 0; i < rows.length; ++i) to[i] = x[i * rows.inner];
}
template <class T>
void scatter_row(const SoftmaxRows& rows, std::int64_t row, const T* from, T* to) {
  T* const y = to + rows.start(row);
  for (std::int64_t i = 0; i < rows.length; ++i) y[i * rows.inner] = from[i];
}

/// Forward keeps the probabilities; backward takes 1 from that of the target.
template <class T>
KernelsOrReason cross_entropy_kernels(const SoftmaxCrossEntropy& op, const Setting& s) {
  const SoftmaxRows rows(s.input(), op.axis);
  const Workers& workers = s.workers;
  const DType target_type = s.input(1).dtype;
  const auto target_of = [=](const NodeMemory& m, std::int64_t row) {
    const std::int64_t target = whole_number(target_type, m.inputs[1], row);
    if (target < 0 || target >= rows.length) {
      fail(ErrorKind::input, "target {} of {} classes", target, rows.length);
    }
    return target;
  };
  const bool is_beyond = is_beyond_caches(s.input().bytes);
  const auto forward = [=, &workers](const NodeMemory& m) {
    const T* const x = real<T>(m.inputs[0]);
    T* const saved = real<T>(m.saved);
    std::vector<double> sums(static_cast<std::size_t>(workers.count()));
    workers.parts(rows.count(), rows.least(), [&](auto part, auto begin, auto end) {
      std::vector<T> room(static_cast<std::size_t>(2 * rows.length));
      T *const from = room.data(), *const powers = from + rows.length;
      ResultStream<T> result(saved, begin * rows.length, is_beyond);
      double sum_of_part = 0;
      for (std::int64_t row = begin; row < end; ++row) {
        if (rows.inner > 1) gather_row(rows, row, x, from);
        const T* const logits = rows.inner > 1 ? from : x + rows.start(row);
        const bool has_next = rows.inner == 1 && row + 1 < end;
        T most = 0;
        const T sum =
            powers_of(logits, powers, rows.length, has_next ? logits + rows.length : nullptr, most);
        sum_of_part += static_cast<double>(std::log(sum) + most - logits[target_of(m, row)]);
        if (saved == nullptr) continue;
        const T factor = T(1) / sum;
        if (rows.inner > 1) {
          vector_loops<T>().line(powers, factor, T(0), nullptr, nullptr, powers, rows.length);
          scatter_row(rows, row, powers, saved);
          continue;
        }
        result.pieces(rows.length, [&](std::int64_t at, std::int64_t count, T* y) {
          vector_loops<T>().line(powers + at, factor, T(0), nullptr, nullptr, y, count);
        });
      }
      sums[static_cast<std::size_t>(part)] = sum_of_part;
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
                     ResultStream<T>(dx, begin * size, is_beyond)
                         .pieces((end - begin) * size, [&](auto at, auto count, T* to) {
                           vector_loops<T>().line(saved + begin * size + at, factor, T(0), nullptr,
                                                  nullptr, to, count);
                         });
                     for (std::int64_t row = begin * rows.inner; row < end * rows.inner; ++row) {
                       dx[rows.start(row) + target_of(m, row) * rows.inner] -= factor;
                     }
                   });
  };
  const std::int64_t saved = s.wants(0) ? s.input().bytes : 0;
  return kernels_by({forward, backward, {.inputs = true, .saved_bytes = saved}}, s);
}

template <class T>
void scaled_difference(const T* a, const T* b, T factor, std::int64_t count, T* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = factor * (a[i] - b[i]);
}

template <class T>
KernelsOrReason squared_error_kernels(const Setting& s) {
  const bool is_beyond = is_beyond_caches(s.input().bytes);
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
    T *const da = real<T>(m.input_gradients[0]), *const db = real<T>(m.input_gradients[1]);
    workers.ranges(count, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
      ResultStream<T> to_a(da, begin, is_beyond), to_b(db, begin, is_beyond);
      constexpr std::int64_t piece = 256;
      for (std::int64_t at = begin; at < end; at += piece) {
        const std::int64_t length = std::min(piece, end - at);
        const T *const p = a + at, *const q = b + at;
        if (da != nullptr) scaled_difference(p, q, factor, length, to_a.next(length));
        if (db != nullptr) scaled_difference(q, p, factor, length, to_b.next(length));
      }
    });
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
