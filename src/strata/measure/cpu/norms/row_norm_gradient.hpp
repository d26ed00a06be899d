// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cpu/line_room.hpp"
#include "strata/measure/cpu/norms/row_norm.hpp"

#include <algorithm>
#include <array>

/// The way back of norms over rows: one way through them where results pass through the caches, and
/// one where they go around them; by rows, where each number has a scale of its own, or by planes.
namespace strata::cpu_training {

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

}  // namespace strata::cpu_training
