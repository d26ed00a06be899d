// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/predict.hpp"
#include "strata/predict/simulate.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace strata {

/// The ways of planning. Exchanges take milliseconds and are for traffic only: they do not make an
/// iteration faster.
enum class PlanWay : std::uint8_t { farthest_exchanged, farthest, packed_exchanged, packed };

/// A plan that can be made again.
struct PlanKey {
  std::int64_t capacity_bytes = 0;
  PlanWay way = PlanWay::farthest;
};

/// What such a plan comes to at some rates.
struct TriedPlan {
  PlanKey key;
  Prediction totals;
  std::int64_t traffic_bytes = 0;
};

/// What the policy `best` has found so far, for everybody who plans for the same program under the
/// same options: whoever asks for a capacity goes on from where others have come to. What is
/// forgotten is found again; it costs time, not truth.
class BestFound {
 public:
  /// What is best from a capacity on, up to that of the next one.
  struct Winner {
    std::int64_t from_bytes = 0;
    TriedPlan tried;
  };
  /// At one set of rates. Whoever adds to it or reads it holds the mutex.
  struct Chain {
    std::mutex mutex;
    std::vector<Winner> winners;  ///< rising
    std::int64_t covered_bytes = 0;
  };

  std::shared_ptr<Chain> at(const RateKey& rates);

 private:
  std::mutex mutex_;
  std::map<RateKey, std::shared_ptr<Chain>> chains_;
};

}  // namespace strata
