// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/training/loops/line_room.hpp"
#include "strata/measure/cpu/training/loops/vector_loops.hpp"
#include "strata/measure/cpu/training/loops/workers.hpp"

#include <algorithm>
#include <vector>

/// Batch norm of rows that hold one number of each channel. All is read and written in the order in
/// which it lies; rows are shared among threads, whose sums are put together.
namespace strata::cpu_training {

/// Two sums for each of some channels.
struct StripSums {
  explicit StripSums(std::int64_t width = 0)
      : first(static_cast<std::size_t>(width)), second(first) {}
  std::vector<double> first, second;

  template <class T>
  void add(std::int64_t channel, const PairOfSums<T>& part) {
    first[static_cast<std::size_t>(channel)] += static_cast<double>(part.first);
    second[static_cast<std::size_t>(channel)] += static_cast<double>(part.second);
  }
  void add(const std::vector<double>& more_first, const std::vector<double>& more_second) {
    for (std::size_t k = 0; k < first.size(); ++k) {
      first[k] += more_first[k];
      second[k] += more_second[k];
    }
  }
};

/// slope, offset and d_slope of each channel (channel_row_loops.hpp).
template <class T>
class RowLines {
 public:
  explicit RowLines(std::int64_t channels) : room_(P::room(channels)) {}
  T& slope(std::int64_t c) { return room_.data()[P::place(c) + P::slope]; }
  T& offset(std::int64_t c) { return room_.data()[P::place(c) + P::offset]; }
  T& d_slope(std::int64_t c) { return room_.data()[P::place(c) + P::d_slope]; }
  const T* data() const { return room_.data(); }

 private:
  using P = ChannelLines<T>;
  LineRoom<T> room_;
};

template <class T>
struct BatchRows {
  const Workers& workers;
  std::int64_t batch, channels;
  const T* x;

  /// Σ (x − base) and Σ (x − base)² with the first row as base.
  StripSums moments() const {
    return sums_of(nullptr, [this](std::int64_t c) { return x[c]; });
  }
  /// Σ dy and Σ dy·(x − mean); of each channel its mean and another number are saved.
  StripSums products(const T* dy, const T* saved) const {
    return sums_of(dy, [saved](std::int64_t c) { return saved[2 * c]; });
  }

  void write(const RowLines<T>& lines, const T* dy, T* y) const {
    workers.ranges(batch, least_rows(), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * channels;
      vector_loops<T>().channel_lines(x + at, dy != nullptr ? dy + at : nullptr, lines.data(),
                                      y + at, end - begin, channels);
    });
  }

 private:
  using P = ChannelSums<T>;
  /// So many rows are summed up in T.
  static constexpr std::int64_t rows_per_sum = 64;

  std::int64_t least_rows() const { return std::max<std::int64_t>(1, numbers_per_part / channels); }

  template <class BaseOf>
  StripSums sums_of(const T* dy, const BaseOf& base_of) const {
    std::vector<StripSums> sums(static_cast<std::size_t>(workers.count()), StripSums(channels));
    const std::int64_t parts =
        workers.parts(batch, least_rows(), [&](auto part, auto begin, auto end) {
          const LineRoom<T> room(P::room(channels));
          for (std::int64_t c = 0; c < channels; ++c) {
            room.data()[P::place(c) + P::base] = base_of(c);
          }
          for (std::int64_t row = begin; row < end; row += rows_per_sum) {
            add_rows(dy, row, std::min(rows_per_sum, end - row), room.data(),
                     sums[static_cast<std::size_t>(part)]);
          }
        });
    for (std::int64_t part = 1; part < parts; ++part) {
      const StripSums& more = sums[static_cast<std::size_t>(part)];
      sums[0].add(more.first, more.second);
    }
    return std::move(sums[0]);
  }

  void add_rows(const T* dy, std::int64_t row, std::int64_t rows, T* room, StripSums& sums) const {
    for (std::int64_t c = 0; c < channels; c += P::line) {
      std::fill_n(room + P::place(c) + P::first, 2 * P::line, T(0));
    }
    const std::int64_t at = row * channels;
    vector_loops<T>().add_channel_rows(x + at, dy != nullptr ? dy + at : nullptr, rows, channels,
                                       room);
    // Line by line, of which compilers make vectors.
    for (std::int64_t c = 0; c < channels; c += P::line) {
      const std::int64_t count = std::min(P::line, channels - c);
      const T* const place = room + P::place(c);
      double *const first = sums.first.data() + c, *const second = sums.second.data() + c;
      for (std::int64_t k = 0; k < count; ++k) {
        first[k] += static_cast<double>(place[P::first + k]);
        second[k] += static_cast<double>(place[P::second + k]);
      }
    }
  }
};

}  // namespace strata::cpu_training
