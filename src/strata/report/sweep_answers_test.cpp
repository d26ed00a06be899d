// SPDX-License-Identifier: Apache-2.0
#include "strata/report/sweep_answers.hpp"

#include "strata/report/sweep_text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

// Two networks, three capacities each.
SweepTable some_results() {
  constexpr double mb = 1048576;
  SweepTable table;
  table.row_count = 6;
  table.columns = {
      {.name = "model",
       .is_number = false,
       .is_axis = true,
       .numbers = {},
       .texts = {"big", "big", "big", "small", "small", "small"}},
      {.name = "capacity_bytes",
       .is_axis = true,
       .numbers = {32 * mb, 64 * mb, 128 * mb, 32 * mb, 64 * mb, 128 * mb},
       .texts = {}},
      {.name = "time_s", .numbers = {0.5, 0.4, 0.39, 0.02, 0.02, no_number}, .texts = {}},
      {.name = "utilisation", .numbers = {0.5, 0.62, 0.64, 1, 1, no_number}, .texts = {}}};
  return table;
}

SweepAnswers some_answers() {
  SweepQuestions questions;
  questions.columns = {"cost=capacity/1MiB*2"};
  questions.where = {"capacity <= 128MiB"};
  questions.pareto = "time,capacity";
  questions.knees = {"capacity=5%"};
  questions.best_under = "cost < 100 && time < 0.3";
  return answer_questions(some_results(), questions);
}

NetworkAnswers some_network() {
  NetworkAnswers network;
  network.network = "big";
  network.reuse = {{.scope = "adjacent",
                    .offered_bytes = 1000,
                    .captured_bytes = 0,
                    .capacity_50_bytes = 10,
                    .capacity_90_bytes = 90,
                    .capacity_100_bytes = 100}};
  const OperatingPoint point{.hardware = {.capacity_bytes = 1000,
                                          .bytes_per_s = 1e9,
                                          .dense_flop_per_s = 1e12,
                                          .other_flop_per_s = 1e12},
                             .batch = 0};
  network.sensitivity = sensitivity_at(point, [](const OperatingPoint& asked) {
    const double time_s = 1e9 / asked.hardware.bytes_per_s;
    return PointSpeed{.time_s = time_s, .samples_per_s = 32 / time_s};
  });
  return network;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(SweepAnswersText, says_each_answer_in_words) {
  const std::string text = to_text(some_answers(), {});
  EXPECT_TRUE(has(text, "6 of 6 points where capacity <= 128MiB")) << text;
  EXPECT_TRUE(has(text, "Pareto front: least time_s, least capacity_bytes")) << text;
  EXPECT_TRUE(has(text, "big: 3 of 3 points")) << text;
  EXPECT_TRUE(has(text, "small: 1 of 2 points")) << "a failed point is none: " << text;
  EXPECT_TRUE(has(text, "64.00 MiB")) << text;
  EXPECT_TRUE(has(text, "400.0 ms")) << text;
  EXPECT_TRUE(has(text, "twice as much saves 2.5 %")) << text;
  EXPECT_TRUE(has(text, "big: none of 3 points satisfies it; the nearest is in the table")) << text;
  EXPECT_TRUE(has(text, "time < 0.3: 400.0 ms, not 300.0 ms (25 % beyond)")) << text;
  EXPECT_TRUE(has(text, "small: 1 of 2 points satisfy it")) << text;
}

TEST(SweepAnswersText, a_long_front_is_shown_in_part) {
  SweepTable table;
  table.row_count = 500;
  table.columns = {{.name = "capacity_bytes", .is_axis = true, .numbers = {}, .texts = {}},
                   {.name = "time_s", .numbers = {}, .texts = {}}};
  for (int row = 0; row < 500; ++row) {
    table.columns[0].numbers.push_back(1000 + row);
    table.columns[1].numbers.push_back(10.0 - row / 100.0);
  }
  SweepQuestions questions;
  questions.pareto = "capacity,time";
  const std::string text = to_text(answer_questions(table, questions), {});
  EXPECT_TRUE(has(text, "24 of 500 shown")) << text;
  EXPECT_TRUE(has(text, "10 s")) << "one end";
  EXPECT_TRUE(has(text, "5.010 s")) << "the other";
}

TEST(SweepAnswersText, shows_what_reuse_needs_and_resources_buy) {
  const NetworkAnswers networks[] = {some_network()};
  const std::string text = to_text(networks, {});
  EXPECT_TRUE(has(text, "adjacent")) << text;
  EXPECT_TRUE(has(text, "100 B")) << text;
  EXPECT_TRUE(has(text, "1.100 GB/s")) << text;
  EXPECT_TRUE(has(text, "+10.0 %")) << text;
  EXPECT_TRUE(has(text, "0 %")) << text;
}

TEST(SweepAnswersJson, holds_every_answer) {
  const NetworkAnswers networks[] = {some_network()};
  const auto json = nlohmann::json::parse(to_json(some_answers(), networks, {.command = "c"}));
  EXPECT_EQ(json["kind"], "sweep_answers");
  EXPECT_EQ(json["points"]["asked"], 6);
  const auto& fronts = json["pareto"]["fronts"];
  ASSERT_EQ(fronts.size(), 2U);
  EXPECT_EQ(fronts[0]["model"], "big");
  EXPECT_EQ(fronts[0]["points"][0]["capacity_bytes"], 134217728);
  EXPECT_EQ(fronts[0]["points"][0]["cost"], 256);
  EXPECT_EQ(json["knees"][0]["knees"][0]["value"], 67108864);
  EXPECT_EQ(json["knees"][0]["knees"][0]["at"], nlohmann::json({{"model", "big"}}));
  const auto& best = json["best_under"]["networks"];
  EXPECT_TRUE(best[0]["best"].is_null());
  EXPECT_EQ(best[0]["nearest"]["time_s"], 0.4);
  EXPECT_EQ(best[1]["best"]["capacity_bytes"], 33554432);
  EXPECT_EQ(json["networks"][0]["reuse"][0]["capacity_90_bytes"], 90);
  EXPECT_NEAR(json["networks"][0]["sensitivity"]["resources"][1]["returns"].get<double>(), 1, 1e-9);
}

TEST(SweepAnswers, the_answer_is_no_when_a_network_has_no_point) {
  EXPECT_TRUE(some_answers().is_no());
  SweepQuestions questions;
  questions.best_under = "time < 1";
  EXPECT_FALSE(answer_questions(some_results(), questions).is_no());
  questions.where = {"time > 1"};
  EXPECT_THROW(answer_questions(some_results(), questions), Error) << "nothing is left";
}

TEST(SweepCell, numbers_have_the_unit_of_their_column) {
  EXPECT_EQ(readable_number("bandwidth_bytes_per_s", 616e9), "616.0 GB/s");
  EXPECT_EQ(readable_number("throughput_flop_per_s", 13.45e12), "13.45 TFLOP/s");
  EXPECT_EQ(readable_number("samples_per_s", 1234), "1.234 K");
  EXPECT_EQ(readable_number("stall_time_s", 0.0421), "42.10 ms");
  EXPECT_EQ(readable_number("utilisation", 0.93), "93.0 %");
  EXPECT_EQ(readable_number("batch", 1024), "1,024");
  EXPECT_EQ(readable_number("cost", 1.5), "1.5");
  EXPECT_EQ(readable_number("cost", no_number), "");
  EXPECT_EQ(readable_heading("traffic_in_bytes"), "traffic_in");
  EXPECT_EQ(readable_heading("samples_per_s"), "samples/s");
}

}  // namespace
}  // namespace strata
