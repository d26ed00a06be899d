// SPDX-License-Identifier: Apache-2.0
// No row of a prediction is above its roof, and its rows add up to the iteration.
#include "strata/api/page.hpp"
#include "strata/api/predict.hpp"
#include "strata/api/stored_profile.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/report/prediction_report.hpp"
#include "strata/report/roofline_summary.hpp"
#include "strata/roofline/roofline.hpp"
#include "strata/zoo/zoo.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace strata {
namespace {

struct RoofCase {
  std::string network;
  std::string machine;
  std::string preset;
  std::int64_t capacity_mib;  // 0: the machine's
  std::int64_t batch = 8;
};

// Deep and narrow, wide, recurrent and attention; on chips that keep nearly nothing, a part, and
// nearly all.
const std::vector<RoofCase>& roof_cases() {
  static const std::vector<RoofCase> cases = {
      {"lenet5", "v100-nersc", "", 0, 32},
      {"lenet5", "h200", "", 1},
      {"lenet5", "rtx-2080-ti", "thesis", 1},
      {"resnet18", "h200", "", 0},
      {"resnet18", "rtx-2080-ti", "", 40},
      {"resnet18", "rtx-2080-ti", "thesis", 40},
      {"resnet18", "rtx-2080-ti", "thesis", 400},
      {"mobilenet_v1", "rtx-2080-ti", "thesis", 24},
      {"mobilenet_v1", "a100-40gb", "", 0},
      {"lstm", "rtx-2080-ti", "", 1},
      {"lstm", "h200", "", 0, 64},
      {"bert_base", "h200", "", 0, 1},
      {"bert_base", "rtx-2080-ti", "thesis", 64, 1},
  };
  return cases;
}

std::string roof_case_name(const RoofCase& one) {
  return fmt::format("{} on {} {} {} MiB", one.network, one.machine, one.preset, one.capacity_mib);
}

PredictRequest roof_request(const RoofCase& one) {
  PredictRequest request = request_of_preset(one.preset);
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  request.sizes.batch = one.batch;
  request.framework = "none";
  if (one.capacity_mib > 0) request.hardware.capacity_bytes = one.capacity_mib << 20;
  request.options.strict_minimum = false;
  return request;
}

/// Below 1 by no more than rounding: bytes are whole numbers, of which each launch may have one,
/// and a time is the difference of two clocks of the iteration.
void expect_below_roofs(const RooflineRow& row, double iteration_s, const std::string& where) {
  const RooflinePoint& point = row.point;
  const double clock_s = 1e-15 * iteration_s * static_cast<double>(row.work.launches + 1);
  const double one_byte_each_s =
      static_cast<double>(row.work.launches + 1) / point.memory_bytes_per_s;
  EXPECT_GE(row.work.time_s, point.compute_roof_s * (1 - 1e-9) - clock_s)
      << where << ": " << row.name;
  EXPECT_GE(row.work.time_s, (point.memory_roof_s - one_byte_each_s) * (1 - 1e-9) - clock_s)
      << where << ": " << row.name;
}

TEST(PredictedRoofs, no_row_is_above_its_roof_and_sums_are_those_of_the_iteration) {
  for (const RoofCase& one : roof_cases()) {
    const std::string where = roof_case_name(one);
    const Machine machine = load_machine(one.machine);
    const PredictionSummary summary =
        predict_model(build_network(one.network), machine, roof_request(one)).summary;
    const Profile& profile = summary.profile;
    const Roofs roofs = roofs_of(machine);
    for (const RooflineBy by : {RooflineBy::row, RooflineBy::layer, RooflineBy::type,
                                RooflineBy::pass, RooflineBy::all}) {
      std::int64_t flop = 0;
      double time_s = 0;
      for (const RooflineRow& row : roofline_of(profile, roofs, by)) {
        expect_below_roofs(row, summary.totals.time_s, where);
        EXPECT_NE(why_above_roof(row, machine), AboveRoof::unexplained) << where << row.name;
        flop += row.work.flop;
        time_s += row.work.time_s;
      }
      EXPECT_EQ(flop, summary.totals.flop) << where;
      const double drain_s = by == RooflineBy::all ? 0 : profile.drain_s;
      EXPECT_NEAR(time_s + drain_s, summary.totals.time_s, 1e-9 * summary.totals.time_s) << where;
    }
    const Work all = roofline_of(profile, roofs, RooflineBy::all).front().work;
    EXPECT_EQ(all.bytes, summary.totals.traffic_bytes()) << where;
    MovedBytes moved;
    for (const ProfileRow& row : profile.rows) {
      ASSERT_TRUE(row.moved.has_value()) << where;
      moved.in_bytes += row.moved->in_bytes;
      moved.out_bytes += row.moved->out_bytes;
      EXPECT_GE(row.moved->in_bytes, 0);
      EXPECT_GE(row.moved->out_bytes, 0);
    }
    // What is loaded is loaded before the last step ends; the rest is what that drains.
    EXPECT_EQ(moved.in_bytes, summary.totals.traffic_in_bytes) << where;
    EXPECT_LE(moved.out_bytes, summary.totals.traffic_out_bytes) << where;
    const auto drained = static_cast<double>(summary.totals.traffic_out_bytes - moved.out_bytes);
    EXPECT_NEAR(drained / summary.hardware.bytes_per_s, profile.drain_s,
                2 / summary.hardware.bytes_per_s)
        << where;
  }
}

TEST(PredictedRoofs, the_preset_of_the_thesis_counts_an_operation_alike_in_time_and_rates) {
  const Machine machine = load_machine("rtx-2080-ti");
  const Graph graph = build_network("resnet18");
  const auto summary_of = [&](const char* preset) {
    return predict_model(graph, machine, roof_request({"resnet18", "rtx-2080-ti", preset, 400}))
        .summary;
  };
  const PredictionSummary thesis = summary_of("thesis");
  const double peak = thesis.hardware.dense_flop_per_s;
  EXPECT_LE(static_cast<double>(thesis.totals.flop), peak * thesis.totals.time_s);
  EXPECT_NEAR(static_cast<double>(thesis.totals.flop) / peak, thesis.totals.compute_time_s,
              1e-9 * thesis.totals.compute_time_s);
  for (const ProfileRow& row : thesis.profile.rows) {
    EXPECT_NEAR(static_cast<double>(row.totals.flop) / peak, row.totals.compute_s,
                1e-9 * row.totals.compute_s)
        << row.layer;
    EXPECT_LE(row.roof_s.value(), row.totals.time_s * (1 + 1e-9) + 1e-11) << row.layer;
  }
  EXPECT_TRUE(thesis.profile.mac_is_one);
  EXPECT_FALSE(summary_of("").profile.mac_is_one);
}

TEST(PredictedRoofs, a_stored_prediction_lies_under_the_rates_that_it_was_made_with) {
  const Graph graph = build_network("lenet5");
  for (const bool has_rate : {false, true}) {
    PredictRequest request = roof_request({"lenet5", "h200", "thesis", 1});
    request.hardware.bytes_per_s = 9e12;
    if (has_rate) request.hardware.flop_per_s = 4e14;
    const PredictionSummary summary = predict_model(graph, load_machine("h200"), request).summary;
    const Profile stored = read_profile(to_json(summary, {}));
    EXPECT_TRUE(stored.mac_is_one);
    ASSERT_EQ(stored.rows.size(), summary.profile.rows.size());
    for (std::size_t i = 0; i < stored.rows.size(); ++i)
      EXPECT_EQ(stored.rows[i].moved, summary.profile.rows[i].moved);
    const Machine machine = machine_for(AskedRoofs{}, stored);
    for (const RooflineRow& row : roofline_of(stored, roofs_of(machine), RooflineBy::row))
      expect_below_roofs(row, summary.totals.time_s, has_rate ? "--throughput" : "--bandwidth");
    const RooflineSummary drawn =
        summarize_roofline({{"stored", stored}}, machine, {}, RooflineBy::row, false);
    for (const std::string& note : drawn.notes) EXPECT_EQ(note.find("above the roof"), note.npos);
    EXPECT_TRUE(std::any_of(drawn.notes.begin(), drawn.notes.end(), [](const std::string& note) {
      return note.find("multiply-add as 1 operation") != note.npos;
    }));
  }
}

}  // namespace
}  // namespace strata
