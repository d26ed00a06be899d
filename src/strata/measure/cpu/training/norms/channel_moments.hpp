// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Means and variances of channels, of sums that are made group by group in T and put together in
/// double.
namespace strata::cpu_training {

/// Of each channel the mean of its numbers so far, and the sum of the squares of their distances
/// from it.
struct ChannelMoments {
  explicit ChannelMoments(std::int64_t channels = 0)
      : mean(static_cast<std::size_t>(channels)), squares(mean) {}

  double count = 0;  ///< of each channel's numbers
  std::vector<double> mean, squares;

  double variance(std::size_t channel) const { return squares[channel] / count; }

  void add(const ChannelMoments& other) {
    const Weights weights = weights_of(other.count);
    for (std::size_t c = 0; c < mean.size(); ++c) {
      put_together(c, other.mean[c], other.squares[c], weights);
    }
    count += other.count;
  }

  /// Adds `more` numbers of each channel, whose sum and sum of squares around base are known.
  template <class T>
  void add(double more, const std::vector<T>& base, const std::vector<double>& sums,
           const std::vector<double>& squares_around_base) {
    const Weights weights = weights_of(more);
    const double each = 1 / more;
    for (std::size_t c = 0; c < mean.size(); ++c) {
      const double moved = sums[c] * each;
      put_together(c, static_cast<double>(base[c]) + moved,
                   squares_around_base[c] - sums[c] * moved, weights);
    }
    count += more;
  }

 private:
  struct Weights {
    double mean = 0, distance = 0;
  };
  Weights weights_of(double more) const {
    const double share = more / (count + more);
    return {share, count * share};
  }
  void put_together(std::size_t c, double other_mean, double other_squares,
                    const Weights& weights) {
    const double distance = other_mean - mean[c];
    mean[c] += weights.mean * distance;
    squares[c] += other_squares + weights.distance * distance * distance;
  }
};

/// Sums of a group of numbers are taken around a base of each channel, so that a large mean does
/// not eat the digits of the variance. It is 0, which costs nothing, until a group shows that its
/// mean is far from it: more than twice the deviation. The base becomes the mean then, and the
/// group has to be summed up again.
template <class T>
class ChannelBases {
 public:
  explicit ChannelBases(std::int64_t channels) : base_(static_cast<std::size_t>(channels)) {}

  const std::vector<T>& numbers() const { return base_; }
  const T* data() const { return base_.data(); }

  /// Moves the bases of channels whose mean is far from them; whether there is such a channel.
  bool move(double count, const std::vector<double>& sums, const std::vector<double>& squares) {
    constexpr double far = 4;  // mean² / variance
    bool is_moved = false;
    for (std::size_t c = 0; c < base_.size(); ++c) {
      if ((1 + far) * sums[c] * sums[c] <= far * count * squares[c]) continue;
      base_[c] = static_cast<T>(static_cast<double>(base_[c]) + sums[c] / count);
      is_moved = true;
    }
    return is_moved;
  }

 private:
  std::vector<T> base_;
};

}  // namespace strata::cpu_training
