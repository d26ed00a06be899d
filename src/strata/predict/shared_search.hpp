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

/// How a plan is made. Exchanges take milliseconds and are for traffic only: they do not make an
/// iteration faster.
enum class PlanMethod : std::uint8_t { farthest_exchanged, farthest, packed_exchanged, packed };

/// A plan that can be made again.
struct PlanKey {
  std::int64_t capacity_bytes = 0;
  PlanMethod method = PlanMethod::farthest;
};

/// The totals of such a plan at some rates, under the prefetch and offload that it was tried with.
struct TriedPlan {
  PlanKey key;
  Prefetch prefetch = Prefetch::soonest;
  Offload offload = Offload::look_ahead;
  Prediction totals;
  std::int64_t traffic_bytes = 0;
};

/// The search of the policy `best`, shared by all threads that plan the same program under the same
/// options: a thread that asks for a capacity continues where the others have got to. A state that
/// was dropped is searched again, which costs time and changes no result.
class SharedSearch {
 public:
  /// The best plan from a capacity on, up to the capacity of the next entry.
  struct BestAt {
    std::int64_t from_bytes = 0;
    TriedPlan tried;
  };
  /// How far the search at one set of rates has got. Hold the mutex to read or change it.
  struct SearchState {
    std::mutex mutex;
    std::vector<BestAt> best;         ///< capacities rise
    std::int64_t searched_bytes = 0;  ///< up to this capacity
  };

  std::shared_ptr<SearchState> at(const RateKey& rates);

 private:
  std::mutex mutex_;
  std::map<RateKey, std::shared_ptr<SearchState>> states_;
};

}  // namespace strata
