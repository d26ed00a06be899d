// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cpu/line_room.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/loops/vector_loops.hpp"
#include "strata/measure/cpu/loops/workers.hpp"
#include "strata/measure/cpu/norms/channel_moments.hpp"

#include <algorithm>
#include <vector>

/// Batch norm of rows that hold one number of each channel. All is read and written in the order in
/// which it lies; rows are shared among threads, whose sums are put together.
namespace strata::cpu_training {

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
  cpu::LineRoom<T> room_;
};

template <class T>
struct BatchRows {
  const Workers& workers;
  std::int64_t batch, channels;
  const T* x;

  ChannelMoments moments() const {
    std::vector<ChannelMoments> found(static_cast<std::size_t>(workers.count()));
    share([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
      found[static_cast<std::size_t>(part)] =
          moments_around_bases<T>(channels, begin, end, rows_per_sum, 1,
                                  [this](std::int64_t first, std::int64_t last,
                                         const std::vector<T>& base, StripSums& sums) {
                                    const auto base_of = [&base](std::int64_t c) {
                                      return base[static_cast<std::size_t>(c)];
                                    };
                                    add_rows(nullptr, first, last, base_of, sums);
                                  });
    });
    return all_of(std::move(found));
  }
  /// Σ dy and Σ dy·(x − mean); of each channel its mean and one over its deviation are saved.
  StripSums products(const T* dy, const T* saved) const {
    const ProductBases<T> bases(static_cast<double>(batch), saved);
    std::vector<StripSums> found(static_cast<std::size_t>(workers.count()));
    share([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
      StripSums& sums = found[static_cast<std::size_t>(part)] = StripSums(channels);
      add_rows(dy, begin, end, bases, sums);
    });
    StripSums sums = all_of(std::move(found));
    bases.take_off_means(sums);
    return sums;
  }

  void write(const RowLines<T>& lines, const T* dy, T* y) const {
    const bool is_beyond =
        is_beyond_caches(batch * channels * static_cast<std::int64_t>(sizeof(T)));
    const bool goes_around = is_beyond && stream_of<T>() != nullptr;
    workers.ranges(batch, least_rows(), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * channels;
      if (goes_around) return write_around_caches(lines, dy, y, at, end * channels);
      vector_loops<T>().channel_lines(x + at, dy != nullptr ? dy + at : nullptr, lines.data(),
                                      y + at, end - begin, channels);
    });
  }

 private:
  using P = ChannelSums<T>;
  /// So many rows are summed up in T.
  static constexpr std::int64_t rows_per_sum = 64;

  std::int64_t least_rows() const { return std::max<std::int64_t>(1, numbers_per_part / channels); }

  /// Numbers begin … end, which are whole rows, in the order in which they lie: piece by piece, of
  /// whole lines of channels.
  void write_around_caches(const RowLines<T>& lines, const T* dy, T* y, std::int64_t begin,
                           std::int64_t end) const {
    const std::int64_t piece = longest_result_piece<T>(true);
    ResultStream<T> results(y, begin, true);
    for (std::int64_t row = begin; row < end; row += channels) {
      for (std::int64_t c = 0; c < channels; c += piece) {
        const std::int64_t count = std::min(piece, channels - c), at = row + c;
        fetch_ahead(x, at, count, end);
        if (dy != nullptr) fetch_ahead(dy, at, count, end);
        vector_loops<T>().channel_lines(x + at, dy != nullptr ? dy + at : nullptr,
                                        lines.data() + ChannelLines<T>::place(c),
                                        results.next(count), 1, count);
      }
    }
  }

  template <class Work>
  void share(const Work& work) const {
    workers.parts(batch, least_rows(), work);
  }

  /// Adds rows begin … end to sums around bases.
  template <class BaseOf>
  void add_rows(const T* dy, std::int64_t begin, std::int64_t end, const BaseOf& base_of,
                StripSums& sums) const {
    const cpu::LineRoom<T> room(P::room(channels));
    std::int64_t bases = 0;
    for (std::int64_t c = 0; c < channels; ++c) bases += base_of(c) != T(0) ? 1 : 0;
    for (std::int64_t c = 0; bases > 0 && c < channels; ++c) {
      room.data()[P::place(c) + P::base] = base_of(c);
    }
    const std::int64_t at_once = summed_rows_at_once(dy != nullptr), each = (end - begin) / at_once;
    const std::int64_t group = rows_per_sum / at_once;
    for (std::int64_t row = 0; row < each; row += group) {
      add_group(dy, begin + row, {at_once, std::min(group, each - row), each * channels}, bases > 0,
                room.data(), sums);
    }
    const std::int64_t added = each * at_once;
    if (begin + added < end) {
      add_group(dy, begin + added, {.rows = end - begin - added}, bases > 0, room.data(), sums);
    }
  }

  void add_group(const T* dy, std::int64_t row, const RowSequences& rows, bool has_base, T* room,
                 StripSums& sums) const {
    for (std::int64_t c = 0; c < channels; c += P::line) {
      std::fill_n(room + P::place(c) + P::first, 2 * P::line, T(0));
    }
    const std::int64_t at = row * channels;
    vector_loops<T>().add_channel_rows(x + at, dy != nullptr ? dy + at : nullptr, rows, channels,
                                       has_base, room);
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
