// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/loops/vector_loops.hpp"
#include "strata/measure/cpu/loops/workers.hpp"

#include <algorithm>
#include <cstdint>

/// In which order batch norm goes through its tensor, and what threads share.
namespace strata::cpu_training {

/// Channels that are worked on together.
struct ChannelStrip {
  std::int64_t begin = 0, end = 0;
  std::int64_t width() const { return end - begin; }
};

/// X is [N, C, space]. Inputs after X: scale, shift (where there are such), running mean, running
/// variance.
struct BatchPlan {
  std::int64_t batch = 0, channels = 0, space = 0, threads = 1;
  bool has_scale = false, has_shift = false;

  std::size_t scale_input() const { return 1; }
  std::size_t shift_input() const { return has_scale ? 2 : 1; }
  std::size_t mean_input() const { return 1 + (has_scale ? 1U : 0U) + (has_shift ? 1U : 0U); }
  double count() const { return static_cast<double>(batch * space); }
  std::int64_t place(std::int64_t n, std::int64_t c) const { return (n * channels + c) * space; }
  /// Asks for the beginning of a stretch of space: the processor sees to the rest of it by itself.
  template <class T>
  void fetch_start(const T* stretch) const {
    fetch(stretch, std::min<std::int64_t>(256, space));
  }
  bool is_beyond = false;  // the result is larger than the caches

  /// Whether sample after sample is read as it lies, for the sums of all channels; otherwise strips
  /// of channels, which a cache may keep until they are written. Strips do not pay where a channel
  /// of a sample is short, as the processor does not foresee the next one; nor where results that
  /// are written as they come need long undisturbed stretches.
  bool goes_by_sample() const {
    constexpr std::int64_t short_space = 256;
    return space < short_space || vector_loops<float>().stream == nullptr;
  }

  /// Channels that are worked on together, so that what of a sample lies side by side is long; few
  /// enough to be still in the second cache when they are normalised, if that can be: where one
  /// channel is too many, runs are longer.
  std::int64_t together() const {
    if (goes_by_sample()) return shares_samples() ? channels : (channels + threads - 1) / threads;
    constexpr std::int64_t numbers_in_cache = 192 * 1024, short_run = 256, long_run = 16 * 1024;
    const bool fits_one = batch * space <= numbers_in_cache;
    const std::int64_t least_run = fits_one ? short_run : long_run;
    const std::int64_t wanted = (least_run + space - 1) / space;
    if (!fits_one) return std::clamp(channels / threads, std::int64_t{1}, wanted);
    const std::int64_t fits = std::max<std::int64_t>(1, numbers_in_cache / (batch * space));
    return std::min({channels, wanted, fits});
  }
  /// Whether threads share the samples; otherwise the channels.
  bool shares_samples() const { return goes_by_sample() && batch >= 2 * threads; }
  /// So many samples are summed up in T.
  std::int64_t samples_per_sum() const {
    constexpr std::int64_t numbers = 4096;
    return std::max<std::int64_t>(1, numbers / space);
  }
  Stretches stretches(const ChannelStrip& strip, std::int64_t samples) const {
    return {strip.width(), space, samples, place(1, 0)};
  }
  /// Whether channels have no space and are worked on all at once, row by row
  /// (batch_norm_rows.hpp): what is read and written fastest lies side by side. All below is for
  /// channels with space.
  bool goes_by_rows() const { return space == 1; }
  /// Whether stretches are long enough to go around the caches.
  bool goes_past() const { return is_beyond && together() * space >= 128; }
  std::int64_t strips() const { return (channels + together() - 1) / together(); }
  ChannelStrip strip(std::int64_t i) const {
    return {i * together(), std::min(channels, (i + 1) * together())};
  }
  /// Calls work(first, last) for strips one after the other, on all threads.
  template <class Work>
  void each_range(const Workers& workers, const Work& work) const {
    if (shares_samples()) return work(0, strips());
    const std::int64_t least = numbers_per_part / (batch * space * together());
    workers.ranges(strips(), std::max<std::int64_t>(1, least), work);
  }
};

}  // namespace strata::cpu_training
