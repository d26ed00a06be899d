// SPDX-License-Identifier: Apache-2.0
// Explanations of predictions against predictions made again.
#include "strata/api/explain.hpp"

#include "strata/api/what_if.hpp"
#include "strata/report/prediction_report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

double predicted_s(const Graph& graph, const Machine& machine, const PredictRequest& request) {
  return predict_model(graph, machine, request).summary.totals.time_s;
}

TEST(ExplainModel, what_ifs_are_what_predict_says_with_that_change) {
  const Graph graph = load_model("alexnet");
  const Machine machine = load_machine("rtx-2080-ti");
  PredictRequest request;
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  request.framework = "none";
  const ExplainedModel explained = explain_model(graph, machine, request);
  const Hardware& now = explained.iteration.summary.hardware;
  EXPECT_EQ(explained.explanation.time_s, predicted_s(graph, machine, request));
  std::size_t checked = 0;
  const auto check = [&](const WhatIf& what_if) {
    if (what_if.basis != Basis::predicted_again) return;
    PredictRequest changed = request;
    double samples = 1;
    if (std::holds_alternative<BandwidthTimes>(what_if.change))
      changed.hardware.bytes_per_s = 2 * now.bytes_per_s;
    if (const auto* capacity = std::get_if<CapacityOf>(&what_if.change))
      set_option(changed, "capacity", fmt::format("{}B", capacity->bytes));
    if (const auto* type = std::get_if<InDType>(&what_if.change)) changed.sizes.dtype = type->dtype;
    if (std::holds_alternative<BatchTimes>(what_if.change)) {
      changed.sizes.batch = 64;
      samples = 2;
    }
    if (const auto* option = std::get_if<OptionSet>(&what_if.change))
      set_option(changed, option->name, option->value);
    Machine other = machine;
    if (std::holds_alternative<ThroughputTimes>(what_if.change))
      for (Peak& peak : other.peaks) peak.flop_per_s.value *= 2;
    ASSERT_TRUE(what_if.time_s) << what_if.reason;
    EXPECT_EQ(*what_if.time_s, predicted_s(graph, other, changed) / samples)
        << text_of(what_if.change);
    ++checked;
  };
  for (const WhatIf& what_if : explained.explanation.what_ifs) check(what_if);
  for (const ProfileFinding& finding : explained.explanation.findings) {
    for (const WhatIf& what_if : finding.what_ifs) check(what_if);
  }
  EXPECT_GE(checked, 7U);
}

// More than 5,000 steps: without the search below the capacity, within half a percent.
TEST(ExplainModel, what_ifs_of_long_programs_are_near_what_predict_says) {
  const Graph graph = load_model("gnmt");
  const Machine machine = load_machine("rtx-2080-ti");
  PredictRequest request;
  request.bounds = WantBounds::not_at_all;
  request.framework = "none";
  request.sizes.dims = {{"batch", 4}};
  const Hardware now = hardware_for(machine, DType::fp32, request);
  const std::vector<Change> changes = {BandwidthTimes{2}};
  std::vector<std::size_t> done;
  const auto answers =
      predict_again(graph, machine, request, now,
                    [&](std::size_t at, std::size_t) { done.push_back(at); })(changes);
  EXPECT_EQ(done, std::vector<std::size_t>{1});
  request.hardware.bytes_per_s = 2 * now.bytes_per_s;
  const double exact_s = predicted_s(graph, machine, request);
  ASSERT_TRUE(answers[0].time_s) << answers[0].reason;
  EXPECT_NEAR(*answers[0].time_s, exact_s, 0.005 * exact_s);
}

TEST(ExplainModel, facts_survive_the_file) {
  const Graph graph = load_model("lenet5");
  PredictRequest request;
  set_option(request, "capacity", "200KiB");
  const PredictedIteration iteration = predict_model(graph, load_machine("rtx-2080-ti"), request);
  const PredictionFacts before = facts_of(iteration.summary);
  const auto recorded =
      recorded_prediction(to_json(iteration.summary, {.request = R"({"model":"lenet5"})"}));
  ASSERT_TRUE(recorded);
  EXPECT_EQ(recorded->request, R"({"model":"lenet5"})");
  const PredictionFacts& after = recorded->facts;
  EXPECT_EQ(after.bound_s, before.bound_s);
  EXPECT_EQ(after.refetch_bytes, before.refetch_bytes);
  EXPECT_EQ(after.capacity_bytes, 200 << 10);
  EXPECT_EQ(after.minimum_step, before.minimum_step);
  ASSERT_EQ(after.reuse.size(), before.reuse.size());
  for (std::size_t i = 0; i < after.reuse.size(); ++i)
    EXPECT_EQ(after.reuse[i].captured_bytes, before.reuse[i].captured_bytes);
  ASSERT_EQ(after.stalls.size(), before.stalls.size());
  for (std::size_t i = 0; i < after.stalls.size(); ++i)
    EXPECT_EQ(after.stalls[i].wait_s, before.stalls[i].wait_s);
}

TEST(Alternatives, are_the_what_ifs_of_explain) {
  const Graph graph = load_model("lenet5");
  const Machine machine = load_machine("rtx-2080-ti");
  PredictRequest request;
  request.bounds = WantBounds::not_at_all;
  set_option(request, "capacity", "300KB");
  set_option(request, "framework", "none");
  request.sizes.dims = {{"batch", 6}};
  const PredictedIteration iteration = predict_model(graph, machine, request);
  const std::vector<Alternative>& found = iteration.summary.alternatives;
  ASSERT_EQ(found.size(), 3U);  // a smaller batch is no advice: only the limit shrinks
  PredictRequest quick = request;
  quick.options.tries_smaller_capacities = false;
  const Hardware& now = iteration.summary.hardware;
  const std::vector<Change> changes = {CapacityOf{iteration.summary.whole.bytes}, BandwidthTimes{2},
                                       InDType{DType::fp16}};
  const auto answers = predict_again(graph, machine, quick, now)(changes);
  const double time_s = iteration.summary.totals.time_s;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    ASSERT_TRUE(answers[i].time_s) << answers[i].reason;
    EXPECT_DOUBLE_EQ(found[i].speed_ratio, time_s / *answers[i].time_s);
  }
}

// Twice as much as that does not fit into 64 bits.
TEST(Alternatives, a_capacity_that_cannot_be_doubled_is_not) {
  EXPECT_EQ(twice_the_capacity(std::int64_t{1} << 62), std::nullopt);
  PredictRequest request;
  request.bounds = WantBounds::not_at_all;
  set_option(request, "capacity", "4EiB");
  set_option(request, "framework", "none");
  const Graph graph = load_model("lenet5");
  const PredictedIteration iteration = predict_model(graph, load_machine("h200"), request);
  for (const Alternative& alternative : iteration.summary.alternatives)
    EXPECT_EQ(alternative.change.find("on-chip"), std::string::npos) << alternative.change;
  EXPECT_EQ(iteration.summary.alternatives.size(), 2U);
}

}  // namespace
}  // namespace strata
