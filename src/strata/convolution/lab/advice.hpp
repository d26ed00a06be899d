// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/result.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// What to take: pure functions of stored results.
namespace strata {

/// Differences below this share, or below the deviations of the two, are taken for noise: whoever
/// was ahead stays ahead.
inline constexpr double conv_noise = 0.02;
/// A strategy is not advised where another may be faster by more than this share, for all that the
/// samples of both and other programs on the machine tell.
inline constexpr double conv_doubt = 0.25;

struct ConvChoice {
  std::string strategy;
  double time_s = 0;
  double deviation_s = 0;
  std::int64_t scratch_bytes = 0;
  double low_s = 0;   ///< as fast as it may be: of the scatter, without what other programs took
  double high_s = 0;  ///< of the scatter
};

/// Consecutive points of a series at which one strategy is the one to take.
struct ConvStretch {
  std::string strategy;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Along a sweep: from `at` on, `ahead` is faster than `behind`, or the only one of them that can.
struct ConvCrossover {
  std::string ahead;
  std::string behind;
  std::int64_t at = 0;
  bool cannot = false;
};

/// How the fastest of our own strategies stands to the fastest of the libraries'.
struct OwnAgainstVendor {
  double ratio = 1;  ///< geometric mean of own time over theirs
  std::int64_t ahead = 0;
  std::int64_t points = 0;
};

/// Of one series in one pass, among strategies that need at most a budget of scratch memory.
struct ConvAdvice {
  std::string series;
  std::size_t series_index = 0;  ///< in the results
  ConvPass pass = ConvPass::forward;
  std::optional<std::int64_t> budget_bytes;
  std::vector<std::optional<ConvChoice>> fastest;  ///< per point; nothing where none can
  std::vector<bool> is_clear;  ///< per point; else its times scatter by more than they differ
  std::vector<ConvStretch> stretches;  ///< of points that are clear, as is all that follows
  std::vector<ConvCrossover>
      crossovers;  ///< of sweeps, among strategies that are fastest somewhere
  std::optional<OwnAgainstVendor> against_vendor;
  std::string recommendation;  ///< one line; empty when nothing is measured
};

/// A reason to doubt the times: other programs ran on the machine, or the samples scatter.
struct ConvWarning {
  std::string code;  ///< "busy-machine", "scattered-times"
  std::string message;
};
std::vector<ConvWarning> conv_warnings(const ConvResults& results);

/// For every series and pass: whatever the memory, then within each budget.
std::vector<ConvAdvice> conv_advice(const ConvResults& results,
                                    std::span<const std::int64_t> budgets_bytes = {});

/// One convolution of a network in one pass.
struct ConvLayerChoice {
  std::size_t point = 0;
  ConvPass pass = ConvPass::forward;
  std::int64_t count = 1;  ///< how often an iteration runs it
  std::optional<ConvChoice> best;
  std::optional<ConvChoice> vendor_default;
  bool is_clear = true;  ///< whether the best is faster than the library's choice, or is that one
};

/// What the best strategies would save over the library's own choice in one iteration.
struct ConvNetworkAdvice {
  std::string series;
  std::string default_name;  ///< the library's own choice; empty: there is none
  std::vector<ConvLayerChoice> layers;
  double best_s = 0;      ///< of all that have a best
  double compared_s = 0;  ///< of those among them that the library can do, too, and are clear
  double default_s = 0;   ///< the library's time of those
};

ConvNetworkAdvice conv_network_advice(const ConvResults& results, const ConvSeries& series,
                                      std::optional<std::int64_t> budget_bytes = std::nullopt);

}  // namespace strata
