// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

namespace strata {

struct TransferTime {
  double bytes = 0;
  double seconds = 0;
};

/// What a transfer costs: seconds = latency_s + bytes / bytes_per_s.
struct TransferCost {
  double latency_s = 0;
  double bytes_per_s = 0;
};

/// The cost whose relative errors are least (squares weighted by 1/seconds²: sizes span six orders
/// of magnitude, and every one of them shall count). Nothing when the times do not rise with the
/// size. A latency below zero becomes the time of the smallest transfer.
std::optional<TransferCost> fit_transfers(std::span<const TransferTime> times);

}  // namespace strata
