// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/analytical.hpp"

#include "strata/base/embedded.hpp"
#include "strata/reproduce/thesis_policies.hpp"
#include "strata/reproduce/thesis_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace strata {
namespace {

// What is known not to hold: network, and what was looked at. Everything else must; and what is
// listed here must not hold either, so that the list cannot outlive its reason.
const std::set<std::pair<std::string, std::string>> known_differences = {
    // 3.06 MiB, half of what is printed
    {"resnet50_keras", "smallest feature map of a convolution"},
    // +0.5 % at 80 MiB: loads that its list begins early are in the way of more urgent ones
    {"transformer_thesis", "latency-aware against naive prefetch, most over 24 to 400 MiB"},
    // −77.7 % for −81.1 %: the thesis does not list GNMT's layers
    {"gnmt_thesis", "time, 24 → 500 MiB"},
};

TEST(ReproduceAnalytical, the_observations_of_the_thesis_hold_but_for_those_listed) {
  double progress = 0;
  const std::vector<Finding> findings = reproduce_analytical([&](double share) {
    EXPECT_GE(share, progress);
    progress = share;
  });
  EXPECT_EQ(progress, 1);
  std::set<std::string> observations;
  for (const Finding& finding : findings) {
    observations.insert(finding.observation);
    const bool is_known = known_differences.contains({finding.network, finding.what});
    EXPECT_EQ(finding.holds, !is_known)
        << "observation " << finding.observation << ", " << finding.network << ", " << finding.what
        << ": printed " << finding.printed << ", found " << finding.found;
    EXPECT_EQ(finding.note.starts_with("rule: "), finding.is_printed) << finding.note;
    EXPECT_TRUE(finding.holds || finding.note.find("; ") != std::string::npos) << finding.note;
    EXPECT_EQ(finding.sentence.empty(), !finding.is_printed) << finding.what;
  }
  EXPECT_EQ(observations.size(), 14U + 4U);  // and figures 4.1, 4.2 and 5.3, and the readings
}

// The preset is the reading of the thesis whose numbers are nearest to those that it prints, on the
// networks that it gives; on all of them no other is nearer by more than rounding.
TEST(ReproduceAnalytical, the_preset_is_the_nearest_reading) {
  const ThesisNetworks networks;
  const std::vector<std::vector<double>> numbers = numbers_by_reading(networks);
  const std::vector<double> given = distances_by_reading(numbers, /*of_given_alone=*/true);
  const auto nearest = std::min_element(given.begin(), given.end()) - given.begin();
  const PredictOptions preset = thesis_prediction();
  EXPECT_EQ(preset.prefetch, thesis_readings[nearest].prefetch);
  EXPECT_EQ(preset.channel, thesis_readings[nearest].channel);
  const std::vector<double> all = distances_by_reading(numbers);
  for (const double other : all) EXPECT_GE(other, all[nearest] - 0.01);
}

// Farthest next use is not monotone; how far time rises for it is bounded, over steps of 2 MiB.
TEST(ReproduceAnalytical, time_hardly_rises_with_capacity) {
  const ThesisNetworks networks;
  for (const ThesisNetwork& network : networks.all()) {
    const std::vector<PolicyTimes> times = policy_times(network);
    for (std::size_t i = 1; i < times.size(); ++i) {
      SCOPED_TRACE(network.name() + " at " + std::to_string(times[i].capacity_mib) + " MiB");
      const bool is_same_traffic = times[i].bytes == times[i - 1].bytes;
      EXPECT_LE(times[i].time_s, (is_same_traffic ? 1.01 : 1.025) * times[i - 1].time_s);
    }
  }
}

// What a word stands for is the same in the program and on its page.
TEST(ReproduceAnalytical, the_page_names_the_bounds_of_the_code) {
  const auto pages = embedded_help_pages();
  const auto page = std::find_if(pages.begin(), pages.end(),
                                 [](const EmbeddedFile& file) { return file.name == "reproduce"; });
  ASSERT_NE(page, pages.end());
  for (const WordedClaim& claim : worded_claims()) {
    if (claim.observation != "6") continue;
    EXPECT_EQ(claim.bound_text, "95 % of the bound, 1.63×");
    EXPECT_NEAR(claim.bound, 0.95 * faster_flop_per_s / thesis_flop_per_s, 1e-9);
  }
  EXPECT_NE(page->text.find("\"close to the bound\": at least 95 % of it"), page->text.npos);
  EXPECT_NE(page->text.find("\"almost all\": at least 90 %"), page->text.npos);
}

}  // namespace
}  // namespace strata
