// SPDX-License-Identifier: Apache-2.0
#include "strata/report/training_run.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

// By hand: 1000 tokens in steps of 64 are 15.6, so 16 iterations of 2 s: 32 s on 4 devices.
TEST(TrainingRun, is_counted_in_whole_iterations) {
  const TrainingTerms terms{.tokens = 1000, .price_per_hour = 9, .currency = "USD", .power_w = 500};
  const TrainingPace pace{
      .devices = 4, .samples = 2, .tokens = 64, .time_s = 2, .low_s = 1, .high_s = 3};
  const auto run = training_run(terms, pace);
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->iterations, 16);
  EXPECT_EQ(run->time_s, 32);
  EXPECT_EQ(run->low_s, 16);
  EXPECT_EQ(run->high_s, 48);
  EXPECT_DOUBLE_EQ(run->device_hours, 128.0 / 3600);
  EXPECT_DOUBLE_EQ(*run->cost, 0.32);  // 9 x 128 / 3600
  EXPECT_DOUBLE_EQ(*run->energy_kwh, 500 * 128 / 3.6e6);
  // 64 tokens for 9 x 4 x 2 / 3600 = 0.02.
  EXPECT_DOUBLE_EQ(*cost_per_million(terms, pace), 0.02 / 64 * 1e6);
}

TEST(TrainingRun, of_samples_goes_with_and_without_sequences) {
  TrainingPace pace{.devices = 1, .samples = 32, .time_s = 0.5, .low_s = 0.4, .high_s = 0.6};
  EXPECT_EQ(training_run({.samples = 320}, pace)->iterations, 10);
  EXPECT_THROW(training_run({.tokens = 320}, pace), Error);
  EXPECT_FALSE(training_run({}, pace).has_value());
  pace.tokens = 3200;
  EXPECT_EQ(training_run({.samples = 321}, pace)->iterations, 11);
}

// Training of Llama 3 70B as its model card counts it: 6.4 M hours of H100 at 700 W.
TEST(TrainingRun, energy_is_that_of_a_published_run) {
  const TrainingPace pace{.devices = 1, .samples = 1, .time_s = 6.4e6 * 3600};
  const auto run = training_run({.samples = 1, .power_w = 700}, pace);
  EXPECT_NEAR(*run->energy_kwh, 4.48e6, 1);
}

TEST(TrainingRun, lines_and_json_say_what_is_known_and_no_more) {
  const TrainingPace pace{
      .devices = 64, .samples = 8, .tokens = 4096, .time_s = 1, .low_s = 0.9, .high_s = 1.1};
  EXPECT_EQ(training_lines({}, pace), "");
  const std::string priced = training_lines({.price_per_hour = 2, .currency = "EUR"}, pace);
  EXPECT_NE(priced.find("8.68 EUR per million tokens"), std::string::npos) << priced;
  const TrainingTerms all{.tokens = 15e12, .price_per_hour = 2, .currency = "USD", .power_w = 700};
  const std::string text = training_lines(all, pace);
  EXPECT_NE(text.find("15.0 T tokens in 3.66 G iterations"), std::string::npos) << text;
  EXPECT_NE(text.find("$130 M"), std::string::npos) << text;
  const nlohmann::ordered_json json = training_json(all, pace);
  EXPECT_EQ(json["run"]["samples"], nullptr);
  EXPECT_EQ(json["run"]["tokens"], 15e12);
  EXPECT_EQ(training_json({}, pace)["run"], nullptr);
}

TEST(TrainingRun, durations_are_in_days_when_they_are_long) {
  EXPECT_EQ(duration_text(30), "30 s");
  EXPECT_EQ(duration_text(3 * 3600), "3 hours");
  EXPECT_EQ(duration_text(93.14 * 86400), "93.1 days");
  EXPECT_EQ(duration_text(2262.7 * 86400), "2263 days");
  EXPECT_EQ(energy_text(0.5), "0.5 kWh");
  EXPECT_EQ(energy_text(35'800), "35.8 MWh");
  EXPECT_EQ(energy_text(2.63e6), "2.63 GWh");
}

}  // namespace
}  // namespace strata
