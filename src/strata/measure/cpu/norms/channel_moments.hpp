// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/lanes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// Sums, means and variances of channels. Loops take numbers around a base of each channel, so that
/// a large mean does not eat the digits of what is left of it. The base is 0, which saves a third
/// of a loop's work, unless the mean is far from 0: more than twice the deviation, and more where
/// numbers are few.
namespace strata::cpu_training {

/// Two sums for each of some channels.
struct StripSums {
  explicit StripSums(std::int64_t width = 0)
      : first(static_cast<std::size_t>(width)), second(first) {}
  std::vector<double> first, second;

  bool is_empty() const { return first.empty(); }
  template <class T>
  void add(std::int64_t channel, const PairOfSums<T>& part) {
    first[static_cast<std::size_t>(channel)] += static_cast<double>(part.first);
    second[static_cast<std::size_t>(channel)] += static_cast<double>(part.second);
  }
  void add(const StripSums& other) {
    for (std::size_t k = 0; k < first.size(); ++k) {
      first[k] += other.first[k];
      second[k] += other.second[k];
    }
  }
};

/// Of each channel the mean of its numbers, and the sum of the squares of their distances from it.
struct ChannelMoments {
  double count = 0;  ///< of each channel's numbers
  std::vector<double> mean, squares;

  bool is_empty() const { return mean.empty(); }
  double variance(std::size_t channel) const { return squares[channel] / count; }

  void add(const ChannelMoments& other) {
    const double share = other.count / (count + other.count);
    for (std::size_t c = 0; c < mean.size(); ++c) {
      const double distance = other.mean[c] - mean[c];
      mean[c] += share * distance;
      squares[c] += other.squares[c] + count * share * distance * distance;
    }
    count += other.count;
  }
};

/// Puts together what threads have found, each in its own place or nothing.
template <class Found>
Found all_of(std::vector<Found> parts) {
  for (std::size_t part = 1; part < parts.size(); ++part) {
    if (!parts[part].is_empty()) parts[0].add(parts[part]);
  }
  return std::move(parts[0]);
}

/// How far a mean may be from its base, in deviations, squared. Of few numbers it often is by
/// chance; but few numbers lose few digits.
inline double far_squared(double count) { return 4 + 128 / count; }

/// Moves the bases of channels to their means where those are far from them, or their squares too
/// large: sums are those of `count` numbers around the bases, and of their squares. Whether there
/// is such a channel.
template <class T>
bool move_bases(double count, const StripSums& sums, std::vector<T>& base) {
  const double far = far_squared(count);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto is_far = [&](std::size_t c) {
    const double sum = sums.first[c], squares = sums.second[c];
    return !((1 + far) * sum * sum <= far * count * squares && squares < infinity);
  };
  int moved = 0;
  for (std::size_t c = 0; c < base.size(); ++c) moved += static_cast<int>(is_far(c));
  if (moved == 0) return false;
  for (std::size_t c = 0; c < base.size(); ++c) {
    if (is_far(c)) base[c] += static_cast<T>(sums.first[c] / count);
  }
  return true;
}

/// Means and variances of samples begin … end with `each` numbers of every channel:
/// add(begin, end, base, sums) adds samples to sums around bases. The first group of samples shows
/// most means that are far; the end shows whether some have moved away since.
template <class T, class Add>
ChannelMoments moments_around_bases(std::int64_t channels, std::int64_t begin, std::int64_t end,
                                    std::int64_t group, std::int64_t each, const Add& add) {
  std::vector<T> base(static_cast<std::size_t>(channels));
  StripSums sums(channels);
  const std::int64_t first_end = std::min(end, begin + group);
  add(begin, first_end, base, sums);
  if (move_bases(static_cast<double>((first_end - begin) * each), sums, base)) {
    sums = StripSums(channels);
    add(begin, first_end, base, sums);
  }
  ChannelMoments moments{static_cast<double>((end - begin) * each), {}, {}};
  if (first_end < end) {
    add(first_end, end, base, sums);
    if (move_bases(moments.count, sums, base)) {
      sums = StripSums(channels);
      add(begin, end, base, sums);
    }
  }
  moments.mean = std::move(sums.first);
  moments.squares = std::move(sums.second);
  const double part = 1 / moments.count;
  for (std::size_t c = 0; c < base.size(); ++c) {
    const double sum = moments.mean[c];
    moments.mean[c] = static_cast<double>(base[c]) + sum * part;
    moments.squares[c] -= sum * sum * part;
  }
  return moments;
}

/// Bases of channels for Σ dy·(x − base), with `count` numbers each. Of each channel its mean and
/// one over its deviation are saved.
template <class T>
class ProductBases {
 public:
  ProductBases(double count, const T* saved)
      : far_(static_cast<T>(far_squared(count))), saved_(saved) {}

  T operator()(std::int64_t channel) const {
    const T mean = saved_[2 * channel], deviations = mean * saved_[2 * channel + 1];
    return deviations * deviations <= far_ ? T(0) : mean;
  }
  /// Makes Σ dy·(x − mean) of Σ dy·(x − base).
  void take_off_means(StripSums& sums) const {
    for (std::size_t c = 0; c < sums.first.size(); ++c) {
      const auto channel = static_cast<std::int64_t>(c);
      const double moved =
          static_cast<double>(saved_[2 * channel]) - static_cast<double>((*this)(channel));
      sums.second[c] -= moved * sums.first[c];
    }
  }

 private:
  T far_;
  const T* saved_;
};

}  // namespace strata::cpu_training
