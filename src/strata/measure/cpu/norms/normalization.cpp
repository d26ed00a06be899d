// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/reduction.hpp"
#include "strata/measure/cpu/norms/row_norm.hpp"
#include "strata/measure/cpu/norms/row_norm_gradient.hpp"
#include "strata/measure/engine/constants.hpp"

#include <cmath>

namespace strata::cpu_training {
namespace {

/// Whether the mean square less the square of the mean is a variance to all but two of its bits,
/// which it is not where both are large.
template <class T>
bool keeps_digits(T mean, T variance) {
  return mean * mean <= 4 * variance && 4 * variance <= std::numeric_limits<T>::max();
}

template <class T>
struct RowStatistics {
  T mean = 0, factor = 0;

  /// From the sums of numbers and squares of row x. A mean far from zero would eat the digits of
  /// the variance: such a row, which is in a cache, is walked again for sums around its mean.
  RowStatistics(const RowNorm& norm, const T* x, const PairOfSums<T>& sums) {
    const T n = static_cast<T>(norm.length);
    T variance = sums.second / n;
    if (norm.takes_mean) {
      mean = sums.first / n;
      variance -= mean * mean;
      if (!keeps_digits(mean, variance)) {
        const PairOfSums<T> around = vector_loops<T>().moments(x, mean, norm.length);
        const T moved = around.first / n;
        mean += moved;
        variance = around.second / n - moved * moved;
      }
    }
    factor = T(1) / std::sqrt(larger_of(T(0), variance) + T(norm.epsilon));
  }
};

/// The same of forward. Where results pass through the caches, long rows with scales are better
/// asked for as well: with their own scales and shifts, two rows are more streams than the first
/// cache has places for numbers that lie a power of two apart. So are rows without a mean, as the
/// loop would take one.
template <class T>
bool forward_takes_next_in_loop(const RowNorm& norm) {
  constexpr std::int64_t long_row = 2048;
  const bool has_streams = norm.repeats == 1 && (norm.length >= long_row || !norm.takes_mean);
  return takes_next_in_loop<T>(norm) && !(has_streams && stream_of<T>() == nullptr);
}

/// Forward of rows one after the other; while one is written, the next is read.
template <class T>
class ForwardRows {
 public:
  ForwardRows(const RowNorm& norm, const NodeMemory& m, std::int64_t begin)
      : norm_(norm),
        x_(real<T>(m.inputs[0])),
        scale_(norm.has_scale ? real<T>(m.inputs[norm.scale_input()]) : nullptr),
        shift_(norm.has_shift ? real<T>(m.inputs[norm.shift_input()]) : nullptr),
        saved_(real<T>(m.saved)),
        result_(real<T>(m.outputs[0]), begin * norm.length, norm.is_beyond) {}

  void run(std::int64_t begin, std::int64_t end) {
    const T* x = x_ + begin * norm_.length;
    PairOfSums<T> sums = moments_of(x);
    for (std::int64_t row = begin; row < end; ++row, x += norm_.length) {
      const RowStatistics<T> statistics(norm_, x, sums);
      const T* const next = row + 1 < end ? x + norm_.length : nullptr;
      sums = write(row % norm_.groups * norm_.entries, x, statistics, next);
      if (next != nullptr && !takes_next_) sums = moments_of(next);
      if (saved_ == nullptr) continue;
      saved_[2 * row] = statistics.mean;
      saved_[2 * row + 1] = statistics.factor;
    }
  }

 private:
  /// Without a mean only the squares are needed, which takes a third of the operations.
  PairOfSums<T> moments_of(const T* x) const {
    if (!norm_.takes_mean) return {T(0), loops_.dot(x, x, norm_.length)};
    return loops_.moments(x, T(0), norm_.length);
  }

  /// y[i] = (x[i] − mean) · factor · scale + shift, and the moments of the next row where the loop
  /// takes them.
  PairOfSums<T> write(std::int64_t first_entry, const T* x, const RowStatistics<T>& s,
                      const T* next) {
    const auto own = [&](const T* parameters) {
      return parameters != nullptr ? parameters + first_entry : nullptr;
    };
    const T *const scale = own(scale_), *const shift = own(shift_);
    PairOfSums<T> sums;
    if (norm_.repeats == 1) {
      piece(x, 0, norm_.length, s.factor, -s.mean * s.factor, scale, shift, next, sums);
      return sums;
    }
    for (std::int64_t entry = 0; entry < norm_.entries; ++entry) {
      const T a = s.factor * (scale != nullptr ? scale[entry] : T(1));
      const T b = (shift != nullptr ? shift[entry] : T(0)) - s.mean * a;
      piece(x, entry * norm_.repeats, norm_.repeats, a, b, nullptr, nullptr, next, sums);
    }
    return sums;
  }

  void piece(const T* x, std::int64_t first, std::int64_t count, T a, T b, const T* scale,
             const T* shift, const T* next, PairOfSums<T>& sums) {
    const auto from = [](const T* numbers, std::int64_t at) {
      return numbers != nullptr ? numbers + at : nullptr;
    };
    result_.pieces(count, [&](std::int64_t at, std::int64_t length, T* y) {
      const T* const numbers = x + first + at;
      if (next != nullptr && !takes_next_) {
        if (stream_of<T>() == nullptr) {
          return loops_.line_while_fetching(numbers, a, b, from(scale, at), from(shift, at), y,
                                            next + first + at, length);
        }
        fetch(next + first + at, length);
      }
      if (next == nullptr || !takes_next_) {
        return loops_.line(numbers, a, b, from(scale, at), from(shift, at), y, length);
      }
      sums.add(loops_.line_and_moments(numbers, a, b, from(scale, at), from(shift, at), y,
                                       {.x = next + first + at}, length));
    });
  }

  const VectorLoops<T>& loops_ = vector_loops<T>();
  const RowNorm& norm_;
  const bool takes_next_ = forward_takes_next_in_loop<T>(norm_);
  const T* const x_;
  const T* const scale_;
  const T* const shift_;
  T* const saved_;
  ResultStream<T> result_;
};

template <class T>
void row_norm_forward(const RowNorm& norm, const Workers& workers, const NodeMemory& m) {
  workers.ranges(norm.rows, norm.least(), [&](std::int64_t begin, std::int64_t end) {
    ForwardRows<T>(norm, m, begin).run(begin, end);
  });
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
