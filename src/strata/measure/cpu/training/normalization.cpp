// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/reduction.hpp"
#include "strata/measure/cpu/training/result_stream.hpp"
#include "strata/measure/training/constants.hpp"

#include <cmath>

namespace strata::cpu_training {
namespace {

/// Rows of numbers that share statistics, side by side in memory. Scale and shift of a row begin at
/// (row mod groups) · entries and hold for `repeats` neighbours each: 1 for layer norm, the space
/// of a channel for group norm.
struct RowNorm {
  std::int64_t rows = 0, length = 0;
  std::int64_t groups = 1, entries = 0, repeats = 1;
  bool takes_mean = true;
  bool has_scale = false, has_shift = false;
  double epsilon = 0;
  bool is_beyond = false;  // the result is larger than the caches

  std::size_t scale_input() const { return 1; }
  std::size_t shift_input() const { return has_scale ? 2 : 1; }
  std::int64_t parameters() const { return groups * entries; }
  std::int64_t least() const { return std::max<std::int64_t>(1, numbers_per_part / length); }
};

/// Around the first number, so that a large mean does not eat the digits of the variance.
template <class T>
void statistics_of(const RowNorm& norm, const T* x, T& mean, T& factor) {
  const T base = norm.takes_mean ? x[0] : T(0);
  const T n = static_cast<T>(norm.length);
  const PairOfSums<T> sums = vector_loops<T>().moments(x, base, norm.length);
  const T moved = norm.takes_mean ? sums.first / n : T(0);
  mean = base + moved;
  factor = T(1) / std::sqrt(larger_of(T(0), sums.second / n - moved * moved) + T(norm.epsilon));
}

/// y[i] = (x[i] − mean) · factor · scale + shift
template <class T>
void normalize_row(const RowNorm& norm, const T* x, T mean, T factor, const T* scale,
                   const T* shift, const T* next, ResultStream<T>& result) {
  const VectorLoops<T>& loops = vector_loops<T>();
  const auto from = [](const T* numbers, std::int64_t at) {
    return numbers != nullptr ? numbers + at : nullptr;
  };
  if (norm.repeats == 1) {
    return result.pieces(norm.length, [&](std::int64_t at, std::int64_t length, T* y) {
      if (next != nullptr) fetch(next + at, length);
      loops.line(x + at, factor, -mean * factor, from(scale, at), from(shift, at), y, length);
    });
  }
  for (std::int64_t entry = 0; entry < norm.entries; ++entry) {
    const T a = factor * (scale != nullptr ? scale[entry] : T(1));
    const T b = (shift != nullptr ? shift[entry] : T(0)) - mean * a;
    const std::int64_t first = entry * norm.repeats;
    result.pieces(norm.repeats, [&](std::int64_t at, std::int64_t length, T* y) {
      if (next != nullptr) fetch(next + first + at, length);
      loops.line(x + first + at, a, b, nullptr, nullptr, y, length);
    });
  }
}

template <class T>
void row_norm_forward(const RowNorm& norm, const Workers& workers, const NodeMemory& m) {
  T* const saved = real<T>(m.saved);
  workers.ranges(norm.rows, norm.least(), [&](std::int64_t begin, std::int64_t end) {
    ResultStream<T> result(real<T>(m.outputs[0]), begin * norm.length, norm.is_beyond);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t first = row % norm.groups * norm.entries;
      const T* const x = real<T>(m.inputs[0]) + row * norm.length;
      T mean = 0, factor = 0;
      statistics_of(norm, x, mean, factor);
      normalize_row<T>(norm, x, mean, factor,
                       norm.has_scale ? real<T>(m.inputs[norm.scale_input()]) + first : nullptr,
                       norm.has_shift ? real<T>(m.inputs[norm.shift_input()]) + first : nullptr,
                       row + 1 < end ? x + norm.length : nullptr, result);
      if (saved == nullptr) continue;
      saved[2 * row] = mean;
      saved[2 * row + 1] = factor;
    }
  });
}

/// One row of backward: dx, and the row's share of the gradients of scale and shift.
template <class T>
struct RowGradient {
  const RowNorm& norm;
  const T* x;
  const T* dy;
  const T* scale;  // of the row; null without one
  T mean, factor;
  ResultStream<T>* dx;  // each null when not wanted
  T* d_scale;
  T* d_shift;
  bool has_next;  // another row follows

  void run() const {
    if (d_scale != nullptr || d_shift != nullptr) add_parameters();
    if (dx == nullptr) return;
    const VectorLoops<T>& loops = vector_loops<T>();
    PairOfSums<T> sums;
    if (norm.repeats == 1) {
      sums = loops.with_normalized(dy, scale, x, mean, factor, norm.length);
    }
    for (std::int64_t entry = 0; norm.repeats > 1 && entry < norm.entries; ++entry) {
      const std::int64_t at = entry * norm.repeats;
      const PairOfSums<T> part =
          loops.with_normalized(dy + at, nullptr, x + at, mean, factor, norm.repeats);
      sums.first += scale_of(entry) * part.first;
      sums.second += scale_of(entry) * part.second;
    }
    // dx = factor (d − mean(d) − hat·mean(d·hat))
    const T n = static_cast<T>(norm.length);
    const T offset = norm.takes_mean ? sums.first / n : T(0), slope = factor * sums.second / n;
    const auto write = [&](std::int64_t first, std::int64_t count, const T* factors, T a) {
      dx->pieces(count, [&](std::int64_t at, std::int64_t length, T* to) {
        const std::int64_t place = first + at;
        if (has_next) {
          fetch(x + norm.length + place, length);
          fetch(dy + norm.length + place, length);
        }
        loops.centred(dy + place, factors != nullptr ? factors + place : nullptr, x + place, a,
                      mean, slope, offset, factor, to, length);
      });
    };
    if (norm.repeats == 1) return write(0, norm.length, scale, T(1));
    for (std::int64_t entry = 0; entry < norm.entries; ++entry) {
      write(entry * norm.repeats, norm.repeats, nullptr, scale_of(entry));
    }
  }

 private:
  T scale_of(std::int64_t entry) const { return scale != nullptr ? scale[entry] : T(1); }

  void add_parameters() const {
    const VectorLoops<T>& loops = vector_loops<T>();
    if (norm.repeats == 1) {
      return loops.add_parameters(dy, x, mean, factor, d_scale, d_shift, norm.length);
    }
    for (std::int64_t entry = 0; entry < norm.entries; ++entry) {
      const std::int64_t at = entry * norm.repeats;
      const PairOfSums<T> sums =
          loops.with_normalized(dy + at, nullptr, x + at, mean, factor, norm.repeats);
      if (d_shift != nullptr) d_shift[entry] += sums.first;
      if (d_scale != nullptr) d_scale[entry] += sums.second;
    }
  }
};

template <class T>
void row_norm_backward(const RowNorm& norm, const Workers& workers, const NodeMemory& m) {
  const T* const saved = real<T>(m.saved);
  T* const dx = real<T>(m.input_gradients[0]);
  T* const d_scale = norm.has_scale ? real<T>(m.input_gradients[norm.scale_input()]) : nullptr;
  T* const d_shift = norm.has_shift ? real<T>(m.input_gradients[norm.shift_input()]) : nullptr;
  const std::int64_t parameters = norm.parameters();
  const std::int64_t parts =
      workers.parts(norm.rows, norm.least(), [&](auto part, auto begin, auto end) {
        T* const sums = real<T>(m.scratch) + 2 * part * parameters;
        if (d_scale != nullptr || d_shift != nullptr) std::fill(sums, sums + 2 * parameters, T(0));
        ResultStream<T> result(dx, begin * norm.length, norm.is_beyond);
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t first = row % norm.groups * norm.entries, at = row * norm.length;
          RowGradient<T>{norm,
                         real<T>(m.inputs[0]) + at,
                         real<T>(m.output_gradients[0]) + at,
                         norm.has_scale ? real<T>(m.inputs[norm.scale_input()]) + first : nullptr,
                         saved[2 * row],
                         saved[2 * row + 1],
                         dx != nullptr ? &result : nullptr,
                         d_scale != nullptr ? sums + first : nullptr,
                         d_shift != nullptr ? sums + parameters + first : nullptr,
                         row + 1 < end}
              .run();
        }
      });
  for (std::int64_t i = 0; i < parameters; ++i) {
    T scale_sum = 0, shift_sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
      const T* const sums = real<T>(m.scratch) + 2 * part * parameters;
      if (d_scale != nullptr) scale_sum += sums[i];
      if (d_shift != nullptr) shift_sum += sums[parameters + i];
    }
    if (d_scale != nullptr) d_scale[i] = scale_sum;
    if (d_shift != nullptr) d_shift[i] = shift_sum;
  }
}

KernelsOrReason row_norm_kernels(RowNorm norm, const Setting& s) {
  norm.is_beyond = is_beyond_caches(s.output().bytes);
  return with_real(s.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr auto element = static_cast<std::int64_t>(sizeof(T));
    const Workers& workers = s.workers;
    const bool has_backward = s.wants_any();
    return kernels_by(
        {[=, &workers](const NodeMemory& m) { row_norm_forward<T>(norm, workers, m); },
         [=, &workers](const NodeMemory& m) { row_norm_backward<T>(norm, workers, m); },
         {.inputs = true,
          .saved_bytes = has_backward ? 2 * norm.rows * element : 0,
          .scratch_bytes = has_backward ? 2 * workers.count() * norm.parameters() * element : 0,
          .backward_is_one = true}},
        s);
  });
}

/// Over the axes from `axis` to the last.
RowNorm trailing_norm(const BoundTensor& x, std::int64_t axis) {
  RowNorm norm{.rows = 1, .length = 1};
  const std::size_t first = normal_axis(axis, x.axes());
  for (std::size_t i = 0; i < x.axes(); ++i) (i < first ? norm.rows : norm.length) *= x[i];
  norm.entries = norm.length;
  return norm;
}

}  // namespace

KernelsOrReason make_kernels(const LayerNorm& op, const Setting& s) {
  RowNorm norm = trailing_norm(s.input(), op.axis);
  norm.has_scale = op.scale;
  norm.has_shift = op.shift;
  norm.epsilon = training_constants::layer_norm_epsilon;
  return row_norm_kernels(norm, s);
}

KernelsOrReason make_kernels(const RmsNorm& op, const Setting& s) {
  RowNorm norm = trailing_norm(s.input(), op.axis);
  norm.takes_mean = false;
  norm.has_scale = op.scale;
  norm.epsilon = training_constants::rms_norm_epsilon;
  return row_norm_kernels(norm, s);
}

KernelsOrReason make_kernels(const GroupNorm& op, const Setting& s) {
  const std::int64_t batch = s.input()[0], channels = s.input()[1];
  RowNorm norm;
  norm.groups = op.groups == 0 ? channels : op.groups;
  norm.rows = batch * norm.groups;
  norm.length = s.input().elements / norm.rows;
  norm.entries = channels / norm.groups;
  norm.repeats = norm.length / norm.entries;
  norm.has_scale = op.scale;
  norm.has_shift = op.shift;
  norm.epsilon = training_constants::group_norm_epsilon;
  return row_norm_kernels(norm, s);
}

}  // namespace strata::cpu_training
