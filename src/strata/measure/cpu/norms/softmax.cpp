// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/line_room.hpp"
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/number_rows.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/norms/softmax_columns.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace strata::cpu_training {
namespace {

/// e^(x − max x) of a row, made in pieces that stay in the first cache. Each piece takes away the
/// largest of its own; what that is beside the largest of the row becomes part of the factor that
/// makes probabilities of powers.
template <class T>
class PiecesOfRow {
 public:
  explicit PiecesOfRow(std::int64_t length) : length_(length) {
    pieces_.resize(static_cast<std::size_t>((length + longest - 1) / longest));
  }

  /// Into y: a whole row, or a piece that the next may replace. Behind x there are `left` numbers,
  /// the rest of the row first.
  void make(const T* x, T* y, bool is_whole, std::int64_t left) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::int64_t at = start(i), count = size(i);
      const bool has_next = at + ahead + count <= left;
      pieces_[i] = vector_loops<T>().row_powers(x + at, is_whole ? y + at : y, count,
                                                has_next ? x + at + ahead : nullptr);
    }
    row_ = pieces_[0];
    if (pieces_.size() == 1) return;
    for (const RowPowers<T>& piece : pieces_) row_.most = std::max(row_.most, piece.most);
    row_.sum = 0;
    for (const RowPowers<T>& piece : pieces_) row_.sum += piece.sum * share(piece);
  }

  const RowPowers<T>& row() const { return row_; }
  T log_of_sum() const { return row_.most + std::log(row_.sum); }

  /// y = powers / sum, both of the whole row.
  void scale(const T* powers, ResultStream<T>& result) const {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const T factor = share(pieces_[i]) / row_.sum;
      const T* const from = powers + start(i);
      result.pieces(size(i), [&](std::int64_t at, std::int64_t count, T* y) {
        vector_loops<T>().line(from + at, factor, T(0), nullptr, nullptr, y, count);
      });
    }
  }

 private:
  static constexpr std::int64_t longest = 1024, ahead = 2 * longest;

  std::int64_t start(std::size_t piece) const { return static_cast<std::int64_t>(piece) * longest; }
  std::int64_t size(std::size_t piece) const { return std::min(longest, length_ - start(piece)); }
  T share(const RowPowers<T>& piece) const {
    return pieces_.size() == 1 ? T(1) : std::exp(piece.most - row_.most);
  }

  std::int64_t length_;
  std::vector<RowPowers<T>> pieces_;
  RowPowers<T> row_;
};

/// `room` holds a row. Behind x there are `left` numbers.
template <class T>
void softmax_row(PiecesOfRow<T>& pieces, const T* x, std::int64_t length, bool is_log,
                 std::int64_t left, T* room, ResultStream<T>& result) {
  const VectorLoops<T>& loops = vector_loops<T>();
  if (is_log) {
    pieces.make(x, room, false, left);
    const T shift = -pieces.log_of_sum();
    return result.pieces(length, [&](std::int64_t at, std::int64_t count, T* y) {
      loops.line(x + at, T(1), shift, nullptr, nullptr, y, count);
    });
  }
  if (length > ResultStream<T>::longest / 2) {
    pieces.make(x, room, true, left);
    return pieces.scale(room, result);
  }
  T* const y = result.next(length);
  pieces.make(x, y, true, left);
  loops.line(y, T(1) / pieces.row().sum, T(0), nullptr, nullptr, y, length);
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
      const cpu::LineRoom<T> room(rows.length);
      PiecesOfRow<T> pieces(rows.length);
      ResultStream<T> result(y, begin * rows.length, is_beyond);
      for (std::int64_t row = begin; row < end; ++row) {
        softmax_row(pieces, x + row * rows.length, rows.length, is_log, (end - row) * rows.length,
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
      if (!is_log && stream_of<T>() == nullptr) {  // all rows where they belong
        const std::int64_t at = begin * rows.length;
        return vector_loops<T>().softmax_gradient_rows(y + at, dy + at, dx + at, end - begin,
                                                       rows.length);
      }
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
      const cpu::LineRoom<T> room(rows.length), gathered(rows.inner > 1 ? rows.length : 0);
      T *const from = gathered.data(), *const powers = room.data();
      PiecesOfRow<T> pieces(rows.length);
      ResultStream<T> result(saved, begin * rows.length, is_beyond);
      double sum_of_part = 0;
      for (std::int64_t row = begin; row < end; ++row) {
        if (rows.inner > 1) gather_row(rows, row, x, from);
        const T* const logits = rows.inner > 1 ? from : x + rows.start(row);
        pieces.make(logits, powers, true, rows.inner == 1 ? (end - row) * rows.length : 0);
        sum_of_part += static_cast<double>(pieces.log_of_sum() - logits[target_of(m, row)]);
        if (saved == nullptr) continue;
        if (rows.inner == 1) {
          pieces.scale(powers, result);
          continue;
        }
        ResultStream<T> in_place(powers, 0, false);
        pieces.scale(powers, in_place);
        scatter_row(rows, row, powers, saved);
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
void scaled_differences(const T* a, const T* b, T factor, std::int64_t count, T* da, T* db) {
  numbers_of<T>(count, [=](auto at) {
    typename decltype(at)::Number p, q;
    at.load(p, a);
    at.load(q, b);
    p = factor * (p - q);
    at.store(p, da);
    at.store(-p, db);
  });
}
template <class T>
void scaled_difference(const T* a, const T* b, T factor, std::int64_t count, T* y) {
  while_asking(
      count,
      [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) y[i] = factor * (a[i] - b[i]);
      },
      a, b);
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
      const std::int64_t piece = longest_result_piece<T>(is_beyond);
      for (std::int64_t at = begin; at < end; at += piece) {
        const std::int64_t length = std::min(piece, end - at);
        fetch_ahead(a, at, length, end);
        fetch_ahead(b, at, length, end);
        const T *const p = a + at, *const q = b + at;
        if (da != nullptr && db != nullptr) {
          scaled_differences(p, q, factor, length, to_a.next(length), to_b.next(length));
          continue;
        }
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
