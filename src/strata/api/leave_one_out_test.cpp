// SPDX-License-Identifier: Apache-2.0
#include "strata/api/leave_one_out.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace strata {
namespace {

/// An iteration that the slower of host and kernels decides on, with an interval of its own.
ValidatedRun made_up_run(const std::string& model, double iteration_s, double host_s, double busy_s,
                         double sigma) {
  ValidatedRun run;
  run.measured.model = model;
  run.measured.iteration_s = iteration_s;
  run.measured.kernels_s = busy_s;
  for (const double slower : tried_hosts()) {
    ExpectedTotals totals;
    totals.time_s = std::max(slower * host_s, busy_s);
    totals.low_s = totals.time_s * std::exp(-sigma);
    totals.high_s = totals.time_s * std::exp(1.5 * sigma);
    run.by_host.push_back(totals);
  }
  run.expected.time_s = run.by_host.front().time_s;
  return run;
}

/// Eleven runs of four networks: most hosts take 1.4 times as long, that of "d" half.
std::vector<ValidatedRun> four_networks() {
  return {made_up_run("a", 1.45, 1.0, 0.3, 0.1),     made_up_run("a", 2.70, 2.0, 0.4, 0.1),
          made_up_run("a", 5.00, 1.0, 4.8, 0.05),    made_up_run("b", 0.72, 0.5, 0.2, 0.2),
          made_up_run("b:x=1", 1.30, 1.0, 0.9, 0.1), made_up_run("c", 3.00, 2.0, 0.4, 0.1),
          made_up_run("c", 4.00, 1.0, 3.6, 0.08),    made_up_run("c", 0.35, 0.3, 0.1, 0.1),
          made_up_run("d", 0.52, 1.0, 0.1, 0.1),     made_up_run("d", 1.10, 2.0, 0.2, 0.1),
          made_up_run("d", 9.00, 1.0, 8.0, 0.02)};
}

bool is_within(const ValidatedRun& run, std::size_t host, double width) {
  const ExpectedTotals& at = run.by_host[host];
  const double low_s = at.time_s * std::pow(at.low_s / at.time_s, width);
  const double high_s = at.time_s * std::pow(at.high_s / at.time_s, width);
  const double rounding = 1e-9;
  return run.measured.iteration_s >= low_s * (1 - rounding) &&
         run.measured.iteration_s <= high_s * (1 + rounding);
}

/// By trying everything: every host, then widths from 0 on in small steps.
OthersFit tried_fit(const std::vector<ValidatedRun>& runs, const std::string& network,
                    double width_step) {
  std::vector<ValidatedRun> others;
  for (const ValidatedRun& run : runs) {
    if (network_of(run.measured) != network) others.push_back(run);
  }
  OthersFit fit{network};
  std::size_t best = 0;
  double least = INFINITY;
  for (std::size_t host = 0; host < tried_hosts().size(); ++host) {
    double error = 0;
    for (const ValidatedRun& run : others) {
      if (run.measured.kernels_s <= 0.85 * run.measured.iteration_s)
        error += std::fabs(std::log(run.by_host[host].time_s) - std::log(run.measured.iteration_s));
    }
    if (error < least - 1e-12) {
      least = error;
      best = host;
    }
  }
  fit.host = tried_hosts()[best];
  for (fit.width = 0;; fit.width += width_step) {
    const auto inside = std::count_if(others.begin(), others.end(), [&](const ValidatedRun& run) {
      return is_within(run, best, fit.width);
    });
    if (10 * inside >= 9 * static_cast<std::ptrdiff_t>(others.size())) return fit;
  }
}

TEST(LeaveOneOut, is_what_trying_everything_finds) {
  const std::vector<ValidatedRun> runs = four_networks();
  const auto summary = leave_one_network_out(runs);
  ASSERT_TRUE(summary);
  ASSERT_EQ(summary->fits.size(), 4U);
  EXPECT_EQ(summary->runs, runs.size());
  std::size_t inside = 0;
  std::vector<double> ratios;
  constexpr double step = 1e-3;
  for (const OthersFit& fit : summary->fits) {
    const OthersFit tried = tried_fit(runs, fit.network, step);
    EXPECT_EQ(fit.host, tried.host) << fit.network;
    EXPECT_NEAR(fit.width, tried.width, step) << fit.network;
    const auto host = static_cast<std::size_t>(
        std::find(tried_hosts().begin(), tried_hosts().end(), tried.host) - tried_hosts().begin());
    for (const ValidatedRun& run : runs) {
      if (network_of(run.measured) != fit.network) continue;
      inside += is_within(run, host, fit.width) ? 1 : 0;
      if (run.measured.kernels_s <= 0.85 * run.measured.iteration_s)
        ratios.push_back(run.by_host[host].time_s / run.measured.iteration_s);
    }
  }
  EXPECT_EQ(summary->inside, inside);
  EXPECT_LT(summary->inside, summary->runs) << "d is like no other";
  EXPECT_EQ(summary->host_bound.runs, ratios.size());
  EXPECT_NEAR(summary->host_bound.mean, errors_of(ratios).mean, 1e-12);
}

TEST(LeaveOneOut, a_network_has_no_say_in_its_own_fit) {
  std::vector<ValidatedRun> runs = four_networks();
  const auto before = leave_one_network_out(runs);
  for (ValidatedRun& run : runs) {
    if (network_of(run.measured) == "b") run.measured.iteration_s *= 100;
  }
  const auto after = leave_one_network_out(runs);
  EXPECT_EQ(after->fits[1].network, "b");
  EXPECT_EQ(after->fits[1].host, before->fits[1].host);
  EXPECT_EQ(after->fits[1].width, before->fits[1].width);
  EXPECT_NE(after->fits[0].width, before->fits[0].width);
}

TEST(LeaveOneOut, how_wide_the_intervals_were_before_does_not_matter) {
  std::vector<ValidatedRun> runs = four_networks();
  const auto before = leave_one_network_out(runs);
  for (ValidatedRun& run : runs) {
    for (ExpectedTotals& at : run.by_host) {
      at.low_s = at.time_s * std::pow(at.low_s / at.time_s, 3);
      at.high_s = at.time_s * std::pow(at.high_s / at.time_s, 3);
    }
  }
  const auto after = leave_one_network_out(runs);
  EXPECT_EQ(after->inside, before->inside);
  for (std::size_t i = 0; i < after->fits.size(); ++i)
    EXPECT_NEAR(3 * after->fits[i].width, before->fits[i].width, 1e-9);
}

TEST(LeaveOneOut, needs_three_networks_that_were_predicted) {
  std::vector<ValidatedRun> runs = four_networks();
  for (ValidatedRun& run : runs) {
    if (run.measured.model == "d") run.left_out = "unknown";
  }
  EXPECT_EQ(leave_one_network_out(runs)->fits.size(), 3U);
  for (ValidatedRun& run : runs) {
    if (run.measured.model == "c") run.left_out = "unknown";
  }
  EXPECT_FALSE(leave_one_network_out(runs));
}

TEST(LeaveOneOut, of_the_set_that_ships_holds_what_is_promised) {
  const auto runs = validate(load_truth("pytorch-h200"));
  const auto summary = leave_one_network_out(runs);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->runs, runs.size());
  EXPECT_GE(static_cast<double>(summary->inside), 0.8 * static_cast<double>(summary->runs));
  EXPECT_LT(summary->host_bound.mean, 0.2);
  for (const ValidatedRun& run : runs) {
    ASSERT_EQ(run.by_host.size(), tried_hosts().size());
    EXPECT_EQ(run.by_host.front().time_s, run.expected.time_s);
    EXPECT_EQ(run.by_host.front().high_s, run.expected.high_s);
  }
}

}  // namespace
}  // namespace strata
