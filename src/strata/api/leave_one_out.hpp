// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/validate.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

/// Two things of an expected time are fitted to whole networks: how much longer the host takes in a
/// network than for single operations, and how wide the interval is. Here both are fitted again
/// without the network that is asked.
namespace strata {

/// What hosts are tried: that many times as long as the calibration says, the nearest to it first.
std::span<const double> tried_hosts();

/// Of one network, fitted to the runs of all others.
struct OthersFit {
  std::string network;
  double host = 1;   ///< of tried_hosts(): the least mean |ln error| of host-bound iterations
  double width = 1;  ///< of the interval, in logarithms: nine of ten iterations are just inside
};

struct LeftOutSummary {
  std::vector<OthersFit> fits;  ///< one per network, in the order of the runs
  std::size_t runs = 0, inside = 0;
  ErrorSummary host_bound;  ///< of iterations
};

/// "bert_base" of "bert_base:head=mlm".
std::string network_of(const MeasuredRun& run);

/// Runs that were left out count nowhere. Nothing: fewer than three networks.
std::optional<LeftOutSummary> leave_one_network_out(const std::vector<ValidatedRun>& runs);

}  // namespace strata
