// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/line_room.hpp"
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/loops/reduction.hpp"
#include "strata/measure/cpu/training/loops/result_stream.hpp"
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

/// Whether the statistics of a row are taken in the loop that writes the row before it. Where
/// results go around the caches they need not: what is asked for meanwhile is there when the row is
/// done.
template <class T>
bool takes_next_in_loop(const RowNorm& norm) {
  return !norm.is_beyond || stream_of<T>() == nullptr;
}

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

/// Backward of rows one after the other: dx, and the rows' share of the gradients of scale and
/// shift; while one is written, the next is read.
template <class T>
class BackwardRows {
 public:
  /// Each gradient is null where it is not wanted; those of parameters begin with group 0.
  BackwardRows(const RowNorm& norm, const NodeMemory& m, std::int64_t begin, T* d_scale, T* d_shift)
      : norm_(norm),
        x_(real<T>(m.inputs[0])),
        dy_(real<T>(m.output_gradients[0])),
        scale_(norm.has_scale ? real<T>(m.inputs[norm.scale_input()]) : nullptr),
        saved_(real<T>(m.saved)),
        has_dx_(m.input_gradients[0] != nullptr),
        d_scale_(d_scale),
        d_shift_(d_shift),
        result_(real<T>(m.input_gradients[0]), begin * norm.length, norm.is_beyond) {}

  void run(std::int64_t begin, std::int64_t end) {
    if (goes_by_planes()) return run_by_planes(begin, end);
    if (goes_by_rows()) return run_by_rows(begin, end);
    PairOfSums<T> sums;
    if (has_dx_) sums = sums_of(begin);
    for (std::int64_t row = begin; row < end; ++row) {
      if (norm_.repeats == 1) add_parameters(row);
      if (has_dx_) {
        sums = write(row, sums, row + 1 < end);
      } else if (norm_.repeats > 1) {
        sums_of(row);
      }
    }
  }

 private:
  /// Whether rows are planes that share a scale: while one row is written, the next is read for its
  /// sums.
  bool goes_by_planes() const { return has_dx_ && norm_.repeats > 1 && stream_of<T>() == nullptr; }
  void run_by_planes(std::int64_t begin, std::int64_t end) {
    const T n = static_cast<T>(norm_.length);
    PairOfSums<T> sums;
    for (std::int64_t entry = 0; entry < norm_.entries; ++entry) {
      add_plane(begin, entry, loops_.plane_sums(plane(begin, entry), norm_.repeats), sums);
    }
    for (std::int64_t row = begin; row < end; ++row) {
      const T factor = this->factor(row);
      const T slope = -factor * factor * factor * sums.second / n;
      const T offset = -factor * sums.first / n - (mean(row) - base(row)) * slope;
      sums = {};
      for (std::int64_t entry = 0; entry < norm_.entries; ++entry) {
        const PlaneGradient<T> gradient{
            {plane(row, entry)}, factor * scale_of(row, entry), slope, offset};
        T* const dx = result_.next(norm_.repeats);
        if (row + 1 == end) {
          loops_.plane_gradient(gradient, dx, norm_.repeats);
          continue;
        }
        const PairOfSums<T> part =
            loops_.plane_gradient_and_sums(gradient, dx, plane(row + 1, entry), norm_.repeats);
        add_plane(row + 1, entry, part, sums);
      }
    }
  }
  T base(std::int64_t row) const { return base_for(mean(row), factor(row)); }
  GradientPlane<T> plane(std::int64_t row, std::int64_t entry) const {
    const std::int64_t at = row * norm_.length + entry * norm_.repeats;
    return {dy_ + at, x_ + at, base(row)};
  }
  void add_plane(std::int64_t row, std::int64_t entry, PairOfSums<T> part, PairOfSums<T>& sums) {
    part.second -= (mean(row) - base(row)) * part.first;
    add_entry(row, entry, part, sums);
  }
  /// Whether all rows have the same parameters, each number its own.
  bool goes_by_rows() const { return has_dx_ && norm_.repeats == 1 && norm_.groups == 1; }
  void run_by_rows(std::int64_t begin, std::int64_t end) {
    Parameters parameters(*this);
    if (stream_of<T>() != nullptr) return run_by_some_rows(begin, end, parameters.data());
    NormGradientRows<T> rows = this->rows(begin, end - begin);
    rows.dx = result_.next(rows.count * rows.length);
    loops_.norm_gradient_rows(rows, norm_.takes_mean, parameters.data());
  }

  /// Where results may go around the caches: some rows are summed up at once and then written one
  /// by one, while those that come after them are asked for.
  void run_by_some_rows(std::int64_t begin, std::int64_t end, T* parameters) {
    std::array<PairOfSums<T>, norm_rows_at_once> sums;
    for (std::int64_t first = begin; first < end; first += norm_rows_at_once) {
      const std::int64_t last = std::min(first + norm_rows_at_once, end);
      loops_.norm_row_sums(rows(first, last - first), norm_.takes_mean, parameters, sums.data());
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t later = row + norm_rows_at_once;
        write_row(row, sums[static_cast<std::size_t>(row - first)], later < end ? later : -1);
      }
    }
  }
  /// `later`: the row that is asked for meanwhile; -1: none.
  void write_row(std::int64_t row, const PairOfSums<T>& sums, std::int64_t later) {
    GradientRow<T> own = gradient_row(row, sums);
    const T *const x = x_ + row * norm_.length, *const dy = dy_ + row * norm_.length;
    result_.pieces(norm_.length, [&](std::int64_t at, std::int64_t length, T* to) {
      if (later >= 0) {
        fetch(x_ + later * norm_.length + at, length);
        fetch(dy_ + later * norm_.length + at, length);
      }
      own.dy = dy + at;
      own.x = x + at;
      own.scale = at_or_null(scale_, at);
      loops_.centred(own, to, length);
    });
  }

  /// Scales, and the gradients of scales and shifts that rows add up, in turn.
  class Parameters {
   public:
    explicit Parameters(const BackwardRows& of) : of_(of), room_(P::room(of.norm_.length)) {
      std::fill_n(data(), P::room(of.norm_.length), T(0));
      for (std::int64_t i = 0; i < of.norm_.length; ++i) {
        data()[P::place(i) + P::scale] = of.scale_ != nullptr ? of.scale_[i] : T(1);
      }
    }
    ~Parameters() {
      for (std::int64_t i = 0; i < of_.norm_.length; ++i) {
        if (of_.d_scale_ != nullptr) of_.d_scale_[i] += data()[P::place(i) + P::d_scale];
        if (of_.d_shift_ != nullptr) of_.d_shift_[i] += data()[P::place(i) + P::d_shift];
      }
    }
    Parameters(const Parameters&) = delete;
    Parameters& operator=(const Parameters&) = delete;
    T* data() const { return room_.data(); }

   private:
    using P = NormParameters<T>;
    const BackwardRows& of_;
    cpu::LineRoom<T> room_;
  };
  NormGradientRows<T> rows(std::int64_t first, std::int64_t count) const {
    const std::int64_t at = first * norm_.length;
    return {.x = x_ + at,
            .dy = dy_ + at,
            .statistics = saved_ + 2 * first,
            .dx = nullptr,
            .count = count,
            .length = norm_.length};
  }
  /// What does not depend on the place in the row: dx = factor (d − mean(d) − hat·mean(d·hat)).
  GradientRow<T> gradient_row(std::int64_t row, const PairOfSums<T>& sums) const {
    const T n = static_cast<T>(norm_.length), factor = this->factor(row);
    return {.mean = mean(row),
            .slope = factor * factor * sums.second / n,
            .offset = norm_.takes_mean ? sums.first / n : T(0),
            .factor = factor};
  }

  std::int64_t first_entry(std::int64_t row) const { return row % norm_.groups * norm_.entries; }
  T mean(std::int64_t row) const { return saved_[2 * row]; }
  T factor(std::int64_t row) const { return saved_[2 * row + 1]; }
  T scale_of(std::int64_t row, std::int64_t entry) const {
    return scale_ != nullptr ? scale_[first_entry(row) + entry] : T(1);
  }
  /// Of each number its own; null without scale, and where neighbours share theirs.
  const T* scales_of(std::int64_t row) const {
    return norm_.repeats == 1 && scale_ != nullptr ? scale_ + first_entry(row) : nullptr;
  }
  /// Adds what Σ dy and Σ dy·(x − mean) of neighbours with one scale are to the row's sums, and to
  /// the gradients of their parameters.
  void add_entry(std::int64_t row, std::int64_t entry, const PairOfSums<T>& part,
                 PairOfSums<T>& sums) {
    const T scale = scale_of(row, entry);
    sums.add({scale * part.first, scale * part.second});
    if (d_shift_ != nullptr) d_shift_[first_entry(row) + entry] += part.first;
    if (d_scale_ != nullptr) d_scale_[first_entry(row) + entry] += factor(row) * part.second;
  }

  /// Σ d and Σ d·(x − mean) with d = dy·scale.
  PairOfSums<T> sums_of(std::int64_t row) {
    const T *const x = x_ + row * norm_.length, *const dy = dy_ + row * norm_.length;
    if (norm_.repeats == 1) {
      return loops_.with_normalized(dy, scales_of(row), x, mean(row), T(1), norm_.length);
    }
    PairOfSums<T> sums;
    for (std::int64_t entry = 0; entry < norm_.entries; ++entry) {
      const std::int64_t at = entry * norm_.repeats;
      add_entry(row, entry,
                loops_.with_normalized(dy + at, nullptr, x + at, mean(row), T(1), norm_.repeats),
                sums);
    }
    return sums;
  }

  /// Writes a row; the sums of the next one.
  PairOfSums<T> write(std::int64_t row, const PairOfSums<T>& sums, bool has_next) {
    GradientRow<T> own = gradient_row(row, sums);
    const T *const x = x_ + row * norm_.length, *const dy = dy_ + row * norm_.length;
    PairOfSums<T> next_sums;
    const bool is_shared = norm_.repeats > 1;  // scale and shift, by neighbours
    const std::int64_t count = is_shared ? norm_.repeats : norm_.length;
    for (std::int64_t entry = 0; entry * count < norm_.length; ++entry) {
      own.a = is_shared ? scale_of(row, entry) : T(1);
      PairOfSums<T> part;
      result_.pieces(count, [&](std::int64_t at, std::int64_t length, T* to) {
        const std::int64_t place = entry * count + at;
        own.dy = dy + place;
        own.x = x + place;
        own.scale = at_or_null(scales_of(row), at);
        if (has_next && !takes_next_) {
          fetch(x + norm_.length + place, length);
          fetch(dy + norm_.length + place, length);
        }
        if (!has_next || !takes_next_) return loops_.centred(own, to, length);
        const NextRow<T> next{.x = x + norm_.length + place,
                              .dy = dy + norm_.length + place,
                              .scale = at_or_null(scales_of(row + 1), at),
                              .base = mean(row + 1)};
        part.add(loops_.centred_and_sums(own, to, next, length));
      });
      if (!has_next || !takes_next_) continue;
      if (is_shared) {
        add_entry(row + 1, entry, part, next_sums);
      } else {
        next_sums.add(part);
      }
    }
    return has_next && !takes_next_ ? sums_of(row + 1) : next_sums;
  }
  static const T* at_or_null(const T* numbers, std::int64_t at) {
    return numbers != nullptr ? numbers + at : nullptr;
  }

  void add_parameters(std::int64_t row) const {
    const T *const x = x_ + row * norm_.length, *const dy = dy_ + row * norm_.length;
    const auto own = [&](T* parameters) {
      return parameters != nullptr ? parameters + first_entry(row) : nullptr;
    };
    loops_.add_parameters(dy, x, mean(row), factor(row), own(d_scale_), own(d_shift_),
                          norm_.length);
  }

  const VectorLoops<T>& loops_ = vector_loops<T>();
  const RowNorm& norm_;
  const bool takes_next_ = takes_next_in_loop<T>(norm_);
  const T* const x_;
  const T* const dy_;
  const T* const scale_;
  const T* const saved_;
  const bool has_dx_;
  T* const d_scale_;
  T* const d_shift_;
  ResultStream<T> result_;
};

template <class T>
void row_norm_backward(const RowNorm& norm, const Workers& workers, const NodeMemory& m) {
  T* const d_scale = norm.has_scale ? real<T>(m.input_gradients[norm.scale_input()]) : nullptr;
  T* const d_shift = norm.has_shift ? real<T>(m.input_gradients[norm.shift_input()]) : nullptr;
  const std::int64_t parameters = norm.parameters();
  const std::int64_t parts =
      workers.parts(norm.rows, norm.least(), [&](auto part, auto begin, auto end) {
        T* const sums = real<T>(m.scratch) + 2 * part * parameters;
        if (d_scale != nullptr || d_shift != nullptr) std::fill(sums, sums + 2 * parameters, T(0));
        BackwardRows<T>(norm, m, begin, d_scale != nullptr ? sums : nullptr,
                        d_shift != nullptr ? sums + parameters : nullptr)
            .run(begin, end);
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
