// SPDX-License-Identifier: Apache-2.0
// The timeline of the report page against the prediction that it is made from.
#include "strata/predict/footprint.hpp"
#include "strata/report/html_page.hpp"
#include "strata/strata.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata {
namespace {

using Json = nlohmann::json;

class TimelinePage : public testing::Test {
 protected:
  void SetUp() override {
    graph_ = load_model("lenet5");
    PredictRequest request;
    request.wants_transfers = true;
    request.hardware.capacity_bytes = 1 << 20;
    iteration_ = predict_model(graph_, load_machine("h100-sxm"), request);
  }

  Graph graph_;
  PredictedIteration iteration_;
};

TEST_F(TimelinePage, has_every_step_and_every_byte) {
  const Json json = Json::parse(timeline_json(iteration_.program, iteration_.prediction));
  const Prediction& prediction = iteration_.prediction;
  EXPECT_EQ(json["end_s"].get<double>(), prediction.time_s);
  EXPECT_FALSE(json["is_aggregated"].get<bool>());
  EXPECT_EQ(json["compute"]["start_s"].size(), prediction.steps.size());
  const auto sum = [&](const char* track, const char* key) {
    double all = 0;
    for (const Json& number : json[track][key]) all += number.get<double>();
    return all;
  };
  EXPECT_NEAR(sum("compute", "busy_s"), prediction.compute_s, 1e-12);
  EXPECT_NEAR(sum("stalls", "busy_s"), prediction.stall_s, 1e-9 * prediction.time_s);
  EXPECT_EQ(sum("in", "bytes"), static_cast<double>(prediction.in_bytes));
  EXPECT_EQ(sum("out", "bytes"), static_cast<double>(prediction.out_bytes));
  const auto most = [](const Json& list) {
    std::int64_t largest = 0;
    for (const Json& number : list) largest = std::max(largest, number.get<std::int64_t>());
    return largest;
  };
  EXPECT_EQ(most(json["on_chip"]["bytes"]), prediction.peak_occupied_bytes);
  // The rows of the profile and the timeline call layers by the same names.
  for (const Json& number : json["compute"]["layer"]) {
    const std::string name = json["names"][number.get<std::size_t>()];
    const auto& rows = iteration_.summary.profile.rows;
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const ProfileRow& row) {
      return row.layer == name;
    })) << name;
  }
}

TEST_F(TimelinePage, of_a_long_iteration_takes_neighbours_together) {
  const Json json = Json::parse(timeline_json(iteration_.program, iteration_.prediction, 5));
  EXPECT_TRUE(json["is_aggregated"].get<bool>());
  for (const char* track : {"compute", "stalls", "in", "out"})
    EXPECT_LE(json[track]["start_s"].size(), 5U) << track;
}

TEST_F(TimelinePage, its_memory_is_what_lives_at_each_step) {
  const Program& program = iteration_.program;
  const Json json = Json::parse(memory_json(program, iteration_.prediction));
  ASSERT_EQ(json["at_s"].size(), program.steps.size());
  const Footprint footprint = footprint_of(program);
  EXPECT_EQ(json["peak"]["bytes"].get<std::int64_t>(), footprint.peak_bytes);
  EXPECT_EQ(json["peak"]["step"], name_of(program, footprint.step));
  // Value by value: a feature lives where a use of it lies behind and another is still to come.
  for (StepId step = 0; step < program.steps.size(); ++step) {
    std::int64_t features = 0;
    for (ValueId id = 0; id < program.values.size(); ++id) {
      const Value& value = program.values[id];
      if (value.kind != ValueKind::feature && value.kind != ValueKind::saved) continue;
      bool is_begun = value.is_given;
      bool is_needed = value.is_result;
      for (StepId other = 0; other < program.steps.size(); ++other) {
        for (const Use& use : program.uses_of(other)) {
          if (use.value != id) continue;
          is_begun = is_begun || other <= step;
          is_needed = is_needed || other >= step;
        }
      }
      if (is_begun && is_needed) features += value.bytes;
    }
    EXPECT_EQ(json["groups"][3]["bytes"][step].get<std::int64_t>(), features) << step;
  }
}

TEST_F(TimelinePage, its_memory_keeps_the_peak_when_there_are_too_many_moments) {
  const Json json = Json::parse(memory_json(iteration_.program, iteration_.prediction, 3));
  EXPECT_LE(json["at_s"].size(), 3U);
  std::int64_t most = 0;
  for (std::size_t at = 0; at < json["at_s"].size(); ++at) {
    std::int64_t sum = 0;
    for (const Json& group : json["groups"]) sum += group["bytes"][at].get<std::int64_t>();
    most = std::max(most, sum);
  }
  EXPECT_EQ(most, json["peak"]["bytes"].get<std::int64_t>());
}

}  // namespace
}  // namespace strata
