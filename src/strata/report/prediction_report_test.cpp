// SPDX-License-Identifier: Apache-2.0
#include "strata/report/prediction_report.hpp"

#include "strata/predict/plan.hpp"
#include "strata/predict/policy.hpp"
#include "strata/profile/scope_title.hpp"
#include "strata/training/random_program_test.hpp"
#include "strata/training/reuse.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace strata {
namespace {

using Json = nlohmann::json;

struct Case {
  Program program;
  Decision decision;
  Prediction prediction;
  PredictionSummary summary;
};

Case predicted(std::uint32_t seed, Record record = Record::steps) {
  Case made;
  made.program = random_programs::Generator(seed, {.most_steps = 20}).program();
  const AccessList list(made.program);
  std::int64_t least = 1;
  for (const StepNeed& need : list.needs) least = std::max(least, need.rows_bytes);
  const Hardware hardware{.capacity_bytes = least + static_cast<std::int64_t>(seed % 16),
                          .bytes_per_s = 3,
                          .dense_flop_per_s = 7,
                          .other_flop_per_s = 5};
  made.decision = decide(list, hardware, {.policy = Policy::thesis});
  made.prediction = simulate(list, made.decision, record);
  made.summary = summarize(made.program, made.decision.plan, made.prediction, hardware);
  return made;
}

TEST(PredictionSummary, rows_and_groups_add_up_to_the_totals) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const PredictionSummary summary = predicted(seed).summary;
    const PredictionTotals& totals = summary.totals;
    const Totals rows = total_of(summary.profile);
    EXPECT_EQ(rows.steps, totals.steps);
    EXPECT_EQ(rows.flop, totals.flop);
    EXPECT_EQ(rows.in_bytes, totals.traffic_in_bytes) << seed;
    EXPECT_EQ(rows.out_bytes, totals.traffic_out_bytes) << seed;
    EXPECT_NEAR(rows.time_s + totals.drain_time_s, totals.time_s, 1e-9 * totals.time_s);
    EXPECT_NEAR(rows.stall_s + totals.drain_time_s, totals.stall_time_s, 1e-9 * totals.time_s);
    for (const auto& groups :
         {summary.by_class, summary.by_type, summary.by_pass, summary.by_block}) {
      Totals sum;
      for (const ProfileGroup& group : groups) sum += group.totals;
      EXPECT_EQ(sum.traffic_bytes(), rows.traffic_bytes());
      EXPECT_NEAR(sum.time_s, rows.time_s, 1e-9 * totals.time_s);
    }
    EXPECT_TRUE(std::is_sorted(summary.stalls.begin(), summary.stalls.end(),
                               [](const Stall& a, const Stall& b) { return a.wait_s > b.wait_s; }));
  }
}

TEST(PredictionSummary, reuse_is_what_the_plan_keeps) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Case made = predicted(seed);
    // Counted from the uses alone: the next use of the same value, if it reads.
    std::int64_t offered = 0;
    std::int64_t captured = 0;
    for (std::size_t use = 0; use < made.program.uses.size(); ++use) {
      const ValueId value = made.program.uses[use].value;
      const auto next = std::find_if(
          made.program.uses.begin() + static_cast<std::ptrdiff_t>(use) + 1, made.program.uses.end(),
          [&](const Use& later) { return later.value == value; });
      if (next == made.program.uses.end() || !next->reads) continue;
      offered += made.program.values[value].bytes;
      if (made.decision.plan.uses[use].stays) captured += made.program.values[value].bytes;
    }
    std::int64_t offered_by_scope = 0;
    std::int64_t captured_by_scope = 0;
    for (const ScopeReuse& scope : made.summary.reuse) {
      offered_by_scope += scope.offered_bytes;
      captured_by_scope += scope.captured_bytes;
      EXPECT_LE(scope.captured_bytes, scope.offered_bytes);
      EXPECT_LE(scope.capacity_50_bytes, scope.capacity_90_bytes);
      EXPECT_LE(scope.capacity_90_bytes, scope.capacity_100_bytes);
    }
    EXPECT_EQ(offered_by_scope, offered) << seed;
    EXPECT_EQ(captured_by_scope, captured) << seed;
  }
}

TEST(PredictionSummary, every_scope_of_reuse_has_a_title) {
  for (std::size_t scope = 0; scope < reuse_scopes; ++scope) {
    const std::string_view name = name_of(static_cast<ReuseScope>(scope));
    EXPECT_NE(title_of_scope(name), name);
  }
}

TEST(PredictionText, says_out_of_memory_with_what_is_needed_and_what_there_is) {
  PredictionSummary summary = predicted(3).summary;
  summary.totals.footprint_bytes = std::int64_t{514} << 30;
  summary.device_memory_bytes = 80.0 * (1 << 30);
  EXPECT_NE(to_text(summary, {}, {}).find("out of memory: needs 514 GiB, has 80.0 GiB"),
            std::string::npos)
      << to_text(summary, {}, {});
  summary.device_memory_bytes = 1024.0 * (1 << 30);
  EXPECT_NE(to_text(summary, {}, {}).find("peak; fits in 1.00 TiB"), std::string::npos)
      << to_text(summary, {}, {});
}

TEST(PredictionJson, has_the_documented_keys_and_every_row) {
  PredictionSummary summary = predicted(3).summary;
  summary.no_bounds_reason = "not asked for";
  const Json json = Json::parse(to_json(summary, {.command = "strata predict x"}));
  EXPECT_EQ(json["schema_version"], 1);
  for (const char* key : {"time_s", "compute_time_s", "stall_time_s", "traffic_in_bytes",
                          "traffic_out_bytes", "average_bandwidth_bytes_per_s", "utilisation",
                          "samples_per_s", "footprint_bytes", "steps"}) {
    EXPECT_TRUE(json["totals"].contains(key)) << key;
  }
  EXPECT_TRUE(json["bounds"].is_null());
  EXPECT_EQ(json["no_bounds_reason"], "not asked for");
  EXPECT_EQ(json["totals"]["traffic_in_bytes"], summary.totals.traffic_in_bytes);
  EXPECT_EQ(json["layers"].size(), summary.profile.rows.size());
  EXPECT_EQ(json["reuse"].size(), 4U);
  EXPECT_EQ(json["provenance"]["command"], "strata predict x");

  summary.bounds = PredictionBounds{1, 2, 3.5, "window"};
  const Json bounded = Json::parse(to_json(summary, {}));
  EXPECT_EQ(bounded["bounds"]["traffic_physical_bytes"], 1);
  EXPECT_EQ(bounded["bounds"]["traffic_model_bytes"], 2);
  EXPECT_EQ(bounded["bounds"]["time_s"], 3.5);
  EXPECT_TRUE(bounded["no_bounds_reason"].is_null());
}

TEST(PredictionCsv, has_a_line_per_row_and_keeps_large_counts_exact) {
  PredictionSummary summary = predicted(5).summary;
  summary.profile.rows[0].layer = "a, \"b\"";
  summary.profile.rows[0].totals.flop = (std::int64_t{1} << 60) + 1;
  const std::string csv = to_csv(summary);
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')),
            summary.profile.rows.size() + 1);
  EXPECT_NE(csv.find("\n\"a, \"\"b\"\"\","), csv.npos);
  EXPECT_NE(csv.find(",1152921504606846977,"), csv.npos);
}

TEST(PredictionTrace, shows_every_step_and_byte_and_slices_nest) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Case made = predicted(seed, Record::transfers);
    const Json trace = Json::parse(to_trace(made.program, made.prediction));
    std::map<int, std::vector<std::pair<double, double>>> slices;  // by track
    std::int64_t bytes[2] = {0, 0};
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      const int track = event["tid"];
      const double start = event["ts"];
      slices[track].push_back({start, start + event["dur"].get<double>()});
      EXPECT_LE(slices[track].back().second, 1e6 * made.prediction.time_s * (1 + 1e-9) + 1e-3);
      if (track >= 4) bytes[track - 4] += event["args"]["bytes"].get<std::int64_t>();
    }
    EXPECT_EQ(slices[2].size(), made.program.steps.size());
    EXPECT_EQ(bytes[0], made.prediction.in_bytes) << seed;
    EXPECT_EQ(bytes[1], made.prediction.out_bytes) << seed;
    for (const int track : {2, 4, 5}) {  // one thing at a time
      auto& parts = slices[track];
      std::sort(parts.begin(), parts.end());
      for (std::size_t i = 1; i < parts.size(); ++i)
        EXPECT_LE(parts[i - 1].second, parts[i].first + 1e-3) << seed << " track " << track;
    }
  }
}

TEST(PredictionText, answers_first_and_is_plain_where_it_must) {
  PredictionSummary summary = predicted(7).summary;
  summary.title = "Net";
  summary.machine_title = "Machine\x1b[2J";
  summary.no_bounds_reason = "too long";
  summary.alternatives = {{"1 GB on-chip", 0.79, 1.27, false}, {"batch 2", 0.5, 1.03, true}};
  const std::string text = to_text(summary, {}, {});
  EXPECT_LT(text.find("  time "), text.find("where the time goes"));
  EXPECT_NE(text.find("no better bound: too long"), text.npos);
  EXPECT_NE(text.find("1 GB on-chip −21 %   batch 2 +3 % samples/s"), text.npos) << text;
  EXPECT_EQ(text.find('\x1b'), text.npos);
  const std::string plain = to_text(summary, {}, {.has_unicode = false});
  EXPECT_TRUE(std::all_of(plain.begin(), plain.end(), [](char c) { return c > 0; }));
  // 100 columns are a terminal: nothing of the table is wider.
  for (const PredictBy by : {PredictBy::type, PredictBy::layer, PredictBy::block, PredictBy::pass,
                             PredictBy::layer_class}) {
    EXPECT_NE(to_text(summary, {.by = by, .layers = all_layers}, {}).find("where the time"),
              text.npos);
  }
}

}  // namespace
}  // namespace strata
