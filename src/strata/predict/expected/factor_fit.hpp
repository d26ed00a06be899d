// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

/// Factors of groups of classes from iterations of whole networks: each network is a sum of what
/// its groups take, and many networks tell the groups apart.
namespace strata {

/// A measured iteration that the GPU bounds.
struct NetworkRun {
  std::string network;
  std::vector<double> busy_s;  ///< of each group, as it is predicted without factors
  double rest_s = 0;           ///< of the iteration, that no kernel takes
  double measured_s = 0;
  /// The ends of the interval without factors, as logarithms of their distance from the time.
  double to_low = 0, to_high = 0;
};

struct FactorFit {
  std::vector<double> factors;  ///< of each group
  std::size_t networks = 0;
  /// The errors are those of networks that the fit did not see, each left out in turn.
  double error = 0, bias = 0;  ///< mean |expected/measured - 1|, and its mean
  double median = 0;
  double widening = 0;  ///< of the interval, in logarithms, with which nine of ten are inside
};

/// The factors with the least sum of |log error| that stay near 1 where nothing speaks against it:
/// each logarithm has a normal prior. Repeatable: nothing in it is random. Empty factors: fewer
/// than five networks.
FactorFit fit_factors(std::span<const NetworkRun> runs);

/// The factors of a fit that has not seen the network.
std::vector<double> factors_without(std::span<const NetworkRun> runs, const std::string& network);

}  // namespace strata
