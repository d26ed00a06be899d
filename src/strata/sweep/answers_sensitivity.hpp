// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/predict.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// What a little more of each resource buys at one point.
namespace strata {

/// Where the question is asked.
struct OperatingPoint {
  Hardware hardware;
  std::int64_t batch = 0;  ///< 0: the network has no batch to change
};

struct PointSpeed {
  double time_s = 0;
  double samples_per_s = 0;
};

/// Predicts a point. It may throw Error: what fails for one resource is a reason in its row.
using PredictPoint = std::function<PointSpeed(const OperatingPoint& point)>;

struct Sensitivity {
  std::string_view resource;  ///< capacity, bandwidth, throughput, batch
  double from = 0;            ///< in base units; of throughput the rate of products
  double to = 0;
  PointSpeed speed;    ///< with that much
  double gained = 0;   ///< samples per second: new / old − 1
  double returns = 0;  ///< gained / share added: 1 says all of it arrives, 0 nothing
  std::string error;   ///< why there is no answer; empty: there is one
};

struct SensitivityAnswer {
  OperatingPoint point;
  PointSpeed speed;
  bool is_expected = false;            ///< times are expected ones, not limits
  std::vector<Sensitivity> resources;  ///< capacity, bandwidth, throughput, batch in this order
};

inline constexpr double tenth_more = 0.1;

/// Predicts the point, and the point with `more` of each resource in turn; a batch grows by a whole
/// number of samples, at least one.
SensitivityAnswer sensitivity_at(const OperatingPoint& point, const PredictPoint& predict,
                                 double more = tenth_more);

}  // namespace strata
