// SPDX-License-Identifier: Apache-2.0
#include "strata/api/host.hpp"

#include "strata/api/explain.hpp"
#include "strata/api/predict.hpp"
#include "strata/api/sweep.hpp"
#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/report/explain_report.hpp"
#include "strata/report/prediction_report.hpp"
#include "strata/sweep/point_result.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace strata {
namespace {

const std::string shipped = "h200-pytorch-eager";

PredictRequest hosted_request(const std::string& host) {
  PredictRequest request;
  request.sizes.batch = 4;
  request.wants_alternatives = false;
  request.bounds = WantBounds::not_at_all;
  if (!host.empty()) set_option(request, "host", host);
  return request;
}

PredictionSummary predicted_by(const std::string& host, std::string_view machine = "h200") {
  const Graph graph = load_model("lenet5");
  return predict_model(graph, load_machine(machine), hosted_request(host)).summary;
}

std::string host_refusal(const std::string& host, std::string_view machine = "h200") {
  try {
    predicted_by(host, machine);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// The shipped calibration, dispatched by a host that takes three times as long.
class HostFile : public testing::Test {
 protected:
  void SetUp() override {
    Calibration mine = *host_named(shipped).of;
    mine.name = "mine";
    mine.host = "a slow desktop";
    mine.classes.clear();  // only its host counts
    for (auto& [kind, time] : mine.host_times) {
      for (double* seconds : {&time.forward_s, &time.backward_s, &time.autocast_forward_s,
                              &time.autocast_backward_s, &time.per_tensor_s})
        *seconds *= 3;
    }
    std::ofstream(path_) << to_json(mine);
  }

  test::TemporaryFolder folder_;  // of this test alone: tests run side by side
  std::string path_ = (folder_.path() / "mine.json").string();
};

TEST(Host, a_factor_slows_the_host_and_leaves_the_kernels) {
  const ExpectedTime own = *predicted_by("").expected;
  const ExpectedTime slow = *predicted_by("2.5x").expected;
  const ExpectedTime fast = *predicted_by("0.5x").expected;
  EXPECT_NEAR(slow.host_s, 2.5 * own.host_s, 1e-9 * own.host_s);
  EXPECT_NEAR(fast.host_s, 0.5 * own.host_s, 1e-9 * own.host_s);
  EXPECT_EQ(slow.busy_s, own.busy_s);
  EXPECT_GT(slow.time_s, 2 * own.time_s);
  EXPECT_EQ(slow.host.calibration, shipped);
  EXPECT_EQ(slow.host.slower, 2.5);
  EXPECT_EQ(own.host.slower, 1);
  EXPECT_EQ(own.host.title, "16 virtual CPU cores");
}

TEST(Host, of_the_kernels_own_calibration_changes_nothing) {
  const ExpectedTime own = *predicted_by("").expected;
  const ExpectedTime same = *predicted_by(shipped).expected;
  EXPECT_EQ(same.time_s, own.time_s);
  EXPECT_EQ(same.low_s, own.low_s);
  EXPECT_EQ(same.high_s, own.high_s);
  EXPECT_EQ(same.host, own.host);
}

TEST_F(HostFile, gives_the_host_and_not_the_kernels) {
  const ExpectedTime own = *predicted_by("").expected;
  const ExpectedTime other = *predicted_by(path_).expected;
  EXPECT_NEAR(other.host_s, 3 * own.host_s, 1e-3 * own.host_s) << "the file has four digits";
  EXPECT_EQ(other.busy_s, own.busy_s);
  EXPECT_EQ(other.calibrated_on, "h200");
  EXPECT_EQ(other.host.title, "a slow desktop");
  EXPECT_EQ(other.host.calibration, "mine");
}

TEST_F(HostFile, is_named_where_an_iteration_is_bound_by_it) {
  const PredictionSummary summary = predicted_by(path_);
  const std::string text = to_text(summary, {}, {});
  EXPECT_NE(text.find("to dispatch on a slow desktop (mine)"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(to_json(summary, {}));
  EXPECT_EQ(json["expected"]["host"]["title"], "a slow desktop");
  EXPECT_EQ(json["expected"]["host"]["slower"], 1);
  const std::string factor = to_text(predicted_by("2x"), {}, {});
  EXPECT_NE(factor.find("a host that takes 2 times as long as 16 virtual CPU cores"),
            std::string::npos)
      << factor;
  const Graph graph = load_model("lenet5");
  const Machine machine = load_machine("h200");
  const PredictRequest request = hosted_request(path_);
  const PredictedIteration iteration = predict_model(graph, machine, request);
  const Explanation explained = explain_iteration(graph, machine, request, iteration);
  EXPECT_NE(to_text(explained, 9, {}).find("the host, a slow desktop (mine), takes"),
            std::string::npos);
}

TEST(Host, what_is_none_is_refused_with_what_is_possible) {
  for (const char* wrong :
       {"h200-pytorch-eage", "0x", "-2x", "1e9x", "x", "twice", "/nowhere.json"})
    EXPECT_NE(host_refusal(wrong).find("--host: expected a"), std::string::npos)
        << wrong << ": " << host_refusal(wrong);
  EXPECT_NE(host_refusal("h200-pytorch-eage").find(shipped), std::string::npos);
  EXPECT_NE(host_refusal("h200-strata").find("its times are of strata"), std::string::npos);
  EXPECT_NE(host_refusal("2x", "grace").find("--host is for GPUs"), std::string::npos)
      << host_refusal("2x", "grace");
  PredictRequest limit = hosted_request("2x");
  set_option(limit, "framework", "none");
  EXPECT_THROW(predict_model(load_model("lenet5"), load_machine("h200"), limit), Error);
}

TEST_F(HostFile, is_an_axis_of_sweeps) {
  const std::vector<std::string> hosts = {"1x", "2x", shipped, path_};
  SweepRequest request;
  request.models = {"lenet5"};
  request.wants_limit = false;
  request.parameters = {{"on", "h200,a100-80gb"},
                        {"batch", "4,8"},
                        {"host", fmt::format("{}", fmt::join(hosts, ","))}};
  const Sweep sweep(request);
  ASSERT_EQ(sweep.grid().size(), 16);
  const auto worker = sweep.worker();
  const Graph graph = load_model("lenet5");
  std::size_t compared = 0;
  for (std::int64_t point = 0; point < 16; ++point) {  // batch, host, machine
    PredictRequest one = hosted_request(hosts[static_cast<std::size_t>(point / 2 % 4)]);
    one.sizes.batch = point < 8 ? 4 : 8;
    const Machine machine = load_machine(point % 2 == 0 ? "h200" : "a100-80gb");
    const PointResult result = worker->at(point);
    ASSERT_EQ(result.error, "");
    const ExpectedTime expected = *predict_model(graph, machine, one).summary.expected;
    EXPECT_EQ(result.expected.time_s, expected.time_s) << point;
    ++compared;
  }
  EXPECT_EQ(compared, 16U);
  SweepRequest other = request;
  other.parameters[2].values = fmt::format("1x,2x,{},3x", shipped);
  EXPECT_NE(Sweep(other).identity().hash, sweep.identity().hash);
}

}  // namespace
}  // namespace strata
