// SPDX-License-Identifier: Apache-2.0
// How far the plans of policy best are from the least traffic that any plan can have.
#include "strata/predict/exact.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/policy.hpp"
#include "strata/reproduce/thesis_network.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(BestAgainstExact, traffic_is_within_five_percent_of_the_optimum) {
  for (const char* name : {"resnet50_keras", "mobilenet_v2_keras", "transformer_thesis"}) {
    const ThesisNetwork network(name);
    for (const std::int64_t capacity_mib : {24, 128, 400}) {
      SCOPED_TRACE(testing::Message() << name << ' ' << capacity_mib << " MB");
      PredictOptions options;
      options.objective = Objective::traffic;
      const Hardware hardware{.capacity_bytes = capacity_mib << 20,
                              .bytes_per_s = thesis_bytes_per_s,
                              .dense_flop_per_s = thesis_flop_per_s,
                              .other_flop_per_s = thesis_flop_per_s};
      const Prediction best = predict(network.list(), hardware, options, Record::totals);
      ExactPlan exact;
      try {
        exact = exact_plan(network.list(), hardware.capacity_bytes, options,
                           {.time_limit_s = 5, .enough_gap = 0.01});
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::environment) throw;
        GTEST_SKIP() << error.what();
      }
      const auto traffic = static_cast<double>(best.in_bytes + best.out_bytes);
      EXPECT_LE(traffic, 1.05 * static_cast<double>(exact.traffic_bytes));
    }
  }
}

}  // namespace
}  // namespace strata
