// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/norms/softmax_columns.hpp"

#include "strata/cpu/line_room.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

namespace strata::cpu_training {
namespace {

/// Columns that are worked on together. Their rows lie apart by the same distance and so compete
/// for the same places of the caches: they are read once and kept side by side. What is written of
/// a row at once is longer where results pass through the caches, which fetch less of it then.
struct Strip {
  static constexpr std::int64_t widest = lane_bytes == 16 ? 512 : 256;
  static constexpr std::int64_t narrowest = 32, numbers = 131'072;
  std::int64_t strips, width;

  explicit Strip(const SoftmaxRows& rows) {
    const std::int64_t most =
        std::clamp(numbers / rows.length / narrowest * narrowest, narrowest, widest);
    strips = (rows.inner + most - 1) / most;
    width = (rows.inner + strips - 1) / strips;
  }

  /// Calls make()(place of the first number, columns) for each strip of each outer index.
  template <class Make>
  void each(const Workers& workers, const SoftmaxRows& rows, const Make& make) const {
    const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / (width * rows.length));
    workers.ranges(rows.outer * strips, least, [&](std::int64_t begin, std::int64_t end) {
      auto work = make();
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t left = i % strips * width;
        work(i / strips * rows.length * rows.inner + left, std::min(width, rows.inner - left));
      }
    });
  }
};

template <class T>
struct alignas(64) StripRow : std::array<T, static_cast<std::size_t>(Strip::widest)> {};

template <class T>
std::int64_t bytes_of(const SoftmaxRows& rows) {
  return rows.count() * rows.length * static_cast<std::int64_t>(sizeof(T));
}

/// Copies row i of a strip; those that come soon are fetched.
template <class T>
void take_row(const SoftmaxRows& rows, const T* strip, std::int64_t i, std::int64_t columns,
              T* to) {
  constexpr std::int64_t rows_ahead = 4;
  if (i + rows_ahead < rows.length) fetch(strip + (i + rows_ahead) * rows.inner, columns);
  std::copy_n(strip + i * rows.inner, columns, to);
}

/// Has make(to) write a row: where it belongs, or by way of `room` where it goes around the caches.
template <class T, class Make>
void write_row(const PastCaches& past, T* to, std::int64_t columns, StripRow<T>& room,
               const Make& make) {
  if (past.stream == nullptr) return make(to);
  make(room.data());
  past.copy(to, room.data(), columns * static_cast<std::int64_t>(sizeof(T)));
}

/// Forward of one strip after the other. Rows are taken in blocks that stay in the first cache.
/// The powers of a block are beside the largest so far; what that is beside the largest of all
/// becomes part of their factor.
template <class T>
class ForwardStrip {
 public:
  ForwardStrip(const SoftmaxRows& rows, std::int64_t width, bool is_log, const PastCaches& past)
      : rows_(rows),
        is_log_(is_log),
        past_(past),
        kept_(rows.length * width),
        taken_(is_log ? 0 : block_rows * width),
        shifts_(static_cast<std::size_t>((rows.length + block_rows - 1) / block_rows)) {}

  void run(const T* x, T* y, std::int64_t columns) {
    columns_ = columns;
    // Not −∞, from which nothing could be taken away.
    most_.fill(std::numeric_limits<T>::lowest());
    sum_.fill(T(0));
    for (std::size_t block = 0; block < shifts_.size(); ++block) add_block(x, block);
    for (std::size_t k = 0; k < static_cast<std::size_t>(columns); ++k) {
      sum_[k] = is_log_ ? most_[k] + std::log(sum_[k]) : T(1) / sum_[k];
    }
    for (std::size_t block = 0; block < shifts_.size(); ++block) finish_block(y, block);
  }

 private:
  static constexpr std::int64_t block_rows = 16;

  std::int64_t first(std::size_t block) const {
    return static_cast<std::int64_t>(block) * block_rows;
  }
  std::int64_t last(std::size_t block) const {
    return std::min(first(block) + block_rows, rows_.length);
  }
  T* kept(std::int64_t row) { return kept_.data() + row * columns_; }

  void add_block(const T* x, std::size_t block) {
    const std::int64_t begin = first(block), end = last(block);
    // The powers' room is written later, or never.
    T* const taken = is_log_ ? kept(begin) : taken_.data();
    const StripRow<T> before = most_;
    for (std::int64_t i = begin; i < end; ++i) {
      loops_.copy_and_larger(x + i * rows_.inner, taken + (i - begin) * columns_, most_.data(),
                             columns_);
    }
    StripRow<T> scale, scaled, unused;
    unused.fill(T(0));
    loops_.exp_columns(before.data(), most_.data(), scale.data(), unused.data(), columns_);
    loops_.multiply(sum_.data(), scale.data(), scaled.data(), columns_);
    sum_ = scaled;
    shifts_[block] = most_;
    for (std::int64_t i = begin; i < end; ++i) {
      // The next block arrives while this one is computed.
      if (i + block_rows < rows_.length) fetch(x + (i + block_rows) * rows_.inner, columns_);
      T* const powers = is_log_ ? unused.data() : kept(i);
      loops_.exp_columns(taken + (i - begin) * columns_, most_.data(), powers, sum_.data(),
                         columns_);
    }
  }

  void finish_block(T* y, std::size_t block) {
    StripRow<T> share, factor, unused, result;
    unused.fill(T(0));
    if (!is_log_) {
      loops_.exp_columns(shifts_[block].data(), most_.data(), share.data(), unused.data(),
                         columns_);
      loops_.multiply(share.data(), sum_.data(), factor.data(), columns_);
    }
    for (std::int64_t i = first(block); i < last(block); ++i) {
      write_row(past_, y + i * rows_.inner, columns_, result, [&](T* to) {
        if (is_log_) {
          loops_.subtract(kept(i), sum_.data(), to, columns_);
        } else {
          loops_.multiply(kept(i), factor.data(), to, columns_);
        }
      });
    }
  }

  const VectorLoops<T>& loops_ = vector_loops<T>();
  const SoftmaxRows& rows_;
  bool is_log_;
  const PastCaches& past_;
  std::int64_t columns_ = 0;
  cpu::LineRoom<T> kept_, taken_;  // powers, or x itself; the block's x
  StripRow<T> most_, sum_;
  std::vector<StripRow<T>> shifts_;  // of each block
};

template <class T>
void forward_columns(const Workers& workers, const SoftmaxRows& rows, const T* x, T* y,
                     bool is_log) {
  const PastCaches past(bytes_of<T>(rows));
  const Strip strip(rows);
  strip.each(workers, rows, [&] {
    auto forward = std::make_unique<ForwardStrip<T>>(rows, strip.width, is_log, past);
    return [=, forward = std::move(forward)](std::int64_t place, std::int64_t columns) {
      forward->run(x + place, y + place, columns);
    };
  });
}

/// Whether backward goes through all columns of an outer index at once, row by row, instead of
/// strip by strip: fast where what lies side by side is read and written, if a shared cache keeps
/// it for the second reading and every thread has something to do.
template <class T>
bool goes_by_rows(const Workers& workers, const SoftmaxRows& rows) {
  const std::int64_t kept = 2 * bytes_of<T>(rows) / rows.outer * workers.count();
  return stream_of<T>() == nullptr && rows.outer >= workers.count() && !is_beyond_caches(kept);
}

template <class T>
void backward_rows(const Workers& workers, const SoftmaxRows& rows, const T* y, const T* dy, T* dx,
                   bool is_log) {
  const VectorLoops<T>& loops = vector_loops<T>();
  const std::int64_t each = rows.length * rows.inner;
  const auto gradient =
      is_log ? loops.log_softmax_gradient_columns : loops.softmax_gradient_columns;
  const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / each);
  workers.ranges(rows.outer, least, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> sum(static_cast<std::size_t>(rows.inner));
    for (std::int64_t first = begin * each; first < end * each; first += each) {
      std::fill(sum.begin(), sum.end(), T(0));
      for (std::int64_t at = first; at < first + each; at += rows.inner) {
        if (is_log) {
          loops.add_row(dy + at, sum.data(), rows.inner);
        } else {
          loops.add_products(y + at, dy + at, sum.data(), rows.inner);
        }
      }
      for (std::int64_t at = first; at < first + each; at += rows.inner) {
        gradient(y + at, dy + at, sum.data(), dx + at, rows.inner);
      }
    }
  });
}

template <class T>
void backward_columns(const Workers& workers, const SoftmaxRows& rows, const T* y, const T* dy,
                      T* dx, bool is_log) {
  if (goes_by_rows<T>(workers, rows)) return backward_rows(workers, rows, y, dy, dx, is_log);
  const VectorLoops<T>& loops = vector_loops<T>();
  const PastCaches past(bytes_of<T>(rows));
  const Strip strip(rows);
  const auto gradient =
      is_log ? loops.log_softmax_gradient_columns : loops.softmax_gradient_columns;
  strip.each(workers, rows, [&] {
    const std::int64_t size = rows.length * strip.width;
    return [&, size, room = cpu::LineRoom<T>(2 * size)](std::int64_t place, std::int64_t columns) {
      StripRow<T> sum, result;
      sum.fill(T(0));
      T *const all_y = room.data(), *const all_dy = all_y + size;
      for (std::int64_t i = 0; i < rows.length; ++i) {
        T *const row = all_y + i * columns, *const d_row = all_dy + i * columns;
        take_row(rows, y + place, i, columns, row);
        take_row(rows, dy + place, i, columns, d_row);
        if (is_log) {
          loops.add_row(d_row, sum.data(), columns);
        } else {
          loops.add_products(row, d_row, sum.data(), columns);
        }
      }
      for (std::int64_t i = 0; i < rows.length; ++i) {
        write_row(past, dx + place + i * rows.inner, columns, result, [&](T* to) {
          gradient(all_y + i * columns, all_dy + i * columns, sum.data(), to, columns);
        });
      }
    };
  });
}

}  // namespace

void softmax_columns(const Workers& workers, const SoftmaxRows& rows, const float* x, float* y,
                     bool is_log) {
  forward_columns(workers, rows, x, y, is_log);
}
void softmax_columns(const Workers& workers, const SoftmaxRows& rows, const double* x, double* y,
                     bool is_log) {
  forward_columns(workers, rows, x, y, is_log);
}
void softmax_gradient_columns(const Workers& workers, const SoftmaxRows& rows, const float* y,
                              const float* dy, float* dx, bool is_log) {
  backward_columns(workers, rows, y, dy, dx, is_log);
}
void softmax_gradient_columns(const Workers& workers, const SoftmaxRows& rows, const double* y,
                              const double* dy, double* dx, bool is_log) {
  backward_columns(workers, rows, y, dy, dx, is_log);
}

}  // namespace strata::cpu_training
