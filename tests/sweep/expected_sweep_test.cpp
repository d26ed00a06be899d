// SPDX-License-Identifier: Apache-2.0
// Expected times in the points of a sweep.
#include "strata/api/sweep.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace strata {
namespace {

/// A sweep and its points by number.
class Points {
 public:
  explicit Points(const SweepRequest& request) : sweep_(request), worker_(sweep_.worker()) {}

  std::int64_t size() const { return sweep_.grid().size(); }
  PointResult at(std::int64_t point) { return worker_->at(point); }
  const SweepCell& cell(std::int64_t point, std::string_view name) {
    sweep_.columns().fill(cells_, point, at(point));
    const std::vector<ColumnHead>& heads = sweep_.columns().heads();
    for (std::size_t i = 0; i < heads.size(); ++i) {
      if (heads[i].name == name) return cells_[i];
    }
    throw std::runtime_error("no such column");
  }
  const Sweep& sweep() const { return sweep_; }

 private:
  Sweep sweep_;
  std::unique_ptr<PointWorker> worker_;
  std::vector<SweepCell> cells_;
};

SweepRequest request_of(std::vector<std::string> models, std::vector<SweepValues> parameters) {
  SweepRequest request;
  request.models = std::move(models);
  request.parameters = std::move(parameters);
  request.parameters.push_back({"policy", "thesis"});
  return request;
}

ExpectedTime predicted(const std::string& model, const std::string& machine,
                       const PredictRequest& asked) {
  PredictRequest request = asked;
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  request.options.policy = Policy::thesis;
  const Graph graph = load_model(model);
  return *predict_model(graph, load_machine(machine), request).summary.expected;
}

TEST(ExpectedSweep, every_point_is_what_predict_says) {
  Points points(request_of({"resnet18", "lstm_stack", "bert_base"},
                           {{"batch", "2,8"}, {"amp", "none,bf16"}, {"on", "h200,a100-40gb"}}));
  for (std::int64_t point = 0; point < points.size(); ++point) {
    PredictRequest request;
    request.sizes.batch = points.cell(point, "batch").whole;
    set_option(request, "amp", points.cell(point, "amp").text);
    const std::string model = points.cell(point, "model").text;
    const std::string machine = points.cell(point, "machine").text;
    const ExpectedTime alone = predicted(model, machine, request);
    EXPECT_EQ(points.cell(point, "expected_s").real, alone.time_s) << model << " on " << machine;
    EXPECT_EQ(points.cell(point, "expected_low_s").real, alone.low_s);
    EXPECT_EQ(points.cell(point, "expected_high_s").real, alone.high_s);
    EXPECT_EQ(points.cell(point, "memory_bytes").whole, alone.memory_bytes);
    EXPECT_EQ(points.cell(point, "samples_per_s").real,
              static_cast<double>(points.cell(point, "samples").whole) / alone.time_s);
    EXPECT_EQ(points.cell(point, "fits").whole, 1);
  }
}

// Programs of a long axis of batches are made from those of three others.
TEST(ExpectedSweep, every_point_of_many_batches_is_what_predict_says) {
  SweepRequest asked =
      request_of({"resnet18", "mobilenet_v2", "lstm_stack"},
                 {{"batch", "1,2,3,5,8,31,64,200"}, {"amp", "none,bf16"}, {"on", "h200"}});
  asked.wants_limit = false;
  Points points(asked);
  ASSERT_EQ(points.size(), 48);
  for (std::int64_t point = 0; point < points.size(); ++point) {
    PredictRequest request;
    request.sizes.batch = points.cell(point, "batch").whole;
    set_option(request, "amp", points.cell(point, "amp").text);
    const std::string model = points.cell(point, "model").text;
    const ExpectedTime alone = predicted(model, "h200", request);
    EXPECT_EQ(points.cell(point, "expected_s").real, alone.time_s) << model << " " << point;
    EXPECT_EQ(points.cell(point, "expected_high_s").real, alone.high_s) << model;
    EXPECT_EQ(points.cell(point, "memory_bytes").whole, alone.memory_bytes) << model;
    EXPECT_EQ(points.cell(point, "samples").whole, *request.sizes.batch);
  }
}

TEST(ExpectedSweep, options_and_frameworks_are_axes) {
  Points points(request_of({"bert_base"}, {{"batch", "4"},
                                           {"on", "h200"},
                                           {"framework", "pytorch-eager,none"},
                                           {"attention", "sdpa,eager"},
                                           {"channels-last", "true,false"}}));
  ASSERT_EQ(points.size(), 8);
  int without = 0;
  std::optional<double> sdpa_s, eager_s;
  for (std::int64_t point = 0; point < points.size(); ++point) {
    EXPECT_EQ(points.at(point).error, "");
    const bool is_none = points.cell(point, "framework").text == "none";
    EXPECT_EQ(points.cell(point, "expected_s").is_empty, is_none);
    without += is_none ? 1 : 0;
    if (is_none) continue;
    const bool is_sdpa = points.cell(point, "attention").text == "sdpa";
    (is_sdpa ? sdpa_s : eager_s) = points.cell(point, "expected_s").real;
  }
  EXPECT_EQ(without, 4);
  EXPECT_LT(*sdpa_s, *eager_s);
}

TEST(ExpectedSweep, a_rate_that_an_axis_changes_changes_the_expected_time) {
  Points points(
      request_of({"resnet18"}, {{"batch", "32"}, {"on", "h200"}, {"bandwidth", "2TB/s,4.8TB/s"}}));
  EXPECT_GT(points.at(0).expected.time_s, points.at(1).expected.time_s);
  EXPECT_EQ(
      points.at(1).expected.time_s,
      Points(request_of({"resnet18"}, {{"batch", "32"}, {"on", "h200"}})).at(0).expected.time_s);
  Points field(
      request_of({"resnet18"}, {{"batch", "32"},
                                {"on", "h200"},
                                {"machine.memory.dram.bandwidth_bytes_per_s", "2TB/s,4.8TB/s"}}));
  ASSERT_EQ(field.at(0).error, "");
  EXPECT_EQ(field.at(0).expected, points.at(0).expected);
}

TEST(ExpectedSweep, a_machine_without_one_leaves_the_columns_empty) {
  Points points(request_of({"lenet5"}, {{"on", "epyc-9654"}}));
  ASSERT_EQ(points.at(0).error, "");
  for (const char* name :
       {"expected_s", "expected_low_s", "expected_high_s", "memory_bytes", "fits"})
    EXPECT_TRUE(points.cell(0, name).is_empty) << name;
  EXPECT_EQ(points.cell(0, "samples_per_s").real, 32 / points.cell(0, "time_s").real);
  Points asked(request_of({"lenet5"}, {{"on", "epyc-9654"}, {"framework", "pytorch-eager"}}));
  EXPECT_NE(asked.at(0).error.find("no expected time"), std::string::npos);
}

TEST(ExpectedSweep, says_nothing_of_on_chip_memory_that_nobody_built) {
  for (const SweepValues& axis : {SweepValues{"capacity", "16MiB,64MiB"},
                                  SweepValues{"machine.memory.l2.capacity_bytes", "16MiB,64MiB"}}) {
    Points points(request_of({"lenet5"}, {{"on", "h200"}, axis}));
    EXPECT_FALSE(points.at(0).expected.is_there()) << axis.name;
    EXPECT_EQ(points.cell(1, "samples_per_s").real, 32 / points.cell(1, "time_s").real);
    Points asked(request_of({"lenet5"}, {{"on", "h200"}, axis, {"framework", "pytorch-eager"}}));
    EXPECT_TRUE(asked.at(0).expected.is_there()) << "where it is asked for";
  }
}

TEST(ExpectedSweep, a_batch_that_the_device_cannot_hold_does_not_fit) {
  Points points(request_of({"resnet50"}, {{"on", "rtx-2080-ti"}, {"batch", "32,512"}}));
  EXPECT_EQ(points.cell(0, "fits").whole, 1);
  EXPECT_EQ(points.cell(1, "fits").whole, 0);
  EXPECT_FALSE(points.cell(1, "fits").is_empty);
  EXPECT_GT(points.cell(1, "memory_bytes").whole, std::int64_t{11} << 30);
}

TEST(ExpectedSweep, without_the_limit_has_the_same_expected_times) {
  SweepRequest request =
      request_of({"resnet18", "lstm_stack"},
                 {{"batch", "4,16"}, {"amp", "none,bf16"}, {"on", "h200,v100,epyc-9654"}});
  Points both(request);
  request.wants_limit = false;
  Points alone(request);
  EXPECT_NE(alone.sweep().identity().hash, both.sweep().identity().hash);
  for (std::int64_t point = 0; point < both.size(); ++point) {
    if (both.cell(point, "machine").text == "epyc-9654") {
      const bool has_rate = both.at(point).error.empty();  // it has none in bf16
      EXPECT_NE(alone.at(point).error.find(
                    has_rate ? "no expected time: expected times of pytorch-eager are of GPUs"
                             : "has no rate for bf16"),
                std::string::npos)
          << alone.at(point).error;
      continue;
    }
    const PointResult with = both.at(point), without = alone.at(point);
    EXPECT_EQ(with.error, without.error);
    if (!with.error.empty()) continue;  // bf16 on a V100
    EXPECT_EQ(with.expected, without.expected) << point;
    EXPECT_EQ(with.samples, without.samples);
    EXPECT_EQ(with.hardware.dense_flop_per_s, without.hardware.dense_flop_per_s);
    for (const char* name : {"time_s", "traffic_in_bytes", "utilisation", "footprint_bytes"})
      EXPECT_TRUE(alone.cell(point, name).is_empty) << name;
  }
}

TEST(ExpectedSweep, autocast_of_a_narrow_network_is_a_reason) {
  Points points(
      request_of({"lenet5"}, {{"on", "h200"}, {"amp", "none,bf16"}, {"dtype", "fp32,bf16"}}));
  int failed = 0;
  for (std::int64_t point = 0; point < points.size(); ++point) {
    const std::string error = points.at(point).error;
    if (error.empty()) continue;
    ++failed;
    EXPECT_NE(error.find("--amp is for networks in fp32"), std::string::npos) << error;
  }
  EXPECT_EQ(failed, 1);
}

TEST(ExpectedSweep, constraints_take_its_columns) {
  SweepRequest request = request_of({"resnet50"}, {{"on", "rtx-2080-ti"}, {"batch", "8:512:x2"}});
  request.where = {"fits == 1 && expected < 1"};
  request.columns = {"ms_per_sample = expected / samples * 1000"};
  Points points(request);
  int left = 0;
  for (std::int64_t point = 0; point < points.size(); ++point) {
    if (points.at(point).is_left_out) continue;
    ++left;
    EXPECT_NEAR(points.cell(point, "ms_per_sample").real,
                1000 / points.cell(point, "samples_per_s").real, 1e-9);
  }
  EXPECT_GT(left, 0);
  EXPECT_TRUE(points.at(points.size() - 1).is_left_out);
}

TEST(ExpectedSweep, sensitivity_is_of_the_expected_time) {
  Points points(request_of({"resnet50"}, {{"on", "h200"}, {"batch", "32"}}));
  const SensitivityAnswer answer = points.sweep().sensitivity_at(0);
  EXPECT_TRUE(answer.is_expected);
  EXPECT_EQ(answer.speed.time_s, points.at(0).expected.time_s);
  ASSERT_EQ(answer.resources.size(), 4U);
  EXPECT_NE(answer.resources[0].error, "") << "it does not know the on-chip capacity";
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(answer.resources[i].error, "");
  PredictRequest larger;
  larger.sizes.batch = 35;
  EXPECT_EQ(answer.resources[3].speed.time_s, predicted("resnet50", "h200", larger).time_s);
}

TEST(ExpectedSweep, files_ask_for_it_as_flags_do) {
  const test::TemporaryFolder folder;
  const auto path = folder.file("gpus.toml", R"(strata_sweep = 1
models = "resnet18"
on = ["h200", "a100-40gb"]
no-limit = true
[axes]
batch = [8, 16]
amp = ["none", "bf16"]
channels-last = [true, false]
framework = "pytorch-eager"
attention = "auto"
)");
  SweepRequest same;
  same.models = {"resnet18"};
  same.wants_limit = false;
  same.parameters = {{"on", "h200,a100-40gb"},       {"batch", "8,16"},
                     {"amp", "none,bf16"},           {"channels-last", "true,false"},
                     {"framework", "pytorch-eager"}, {"attention", "auto"}};
  EXPECT_EQ(Sweep(read_sweep_file(path)).identity().hash, Sweep(same).identity().hash);
  EXPECT_EQ(Sweep(same).grid().size(), 16);
}

// A recording is a network to a sweep, too; it is told apart by its file.
TEST(ExpectedSweep, of_a_recording_is_what_predict_says) {
  const std::string recording = STRATA_SOURCE_DIR "/tests/recordings/resnet18.json";
  Points points(request_of({recording}, {{"on", "h200,l4"}}));
  ASSERT_EQ(points.size(), 2);
  const char* const machines[] = {"h200", "l4"};
  for (std::int64_t point = 0; point < 2; ++point) {
    const PointResult result = points.at(point);
    const ExpectedTime expected = predicted(recording, machines[point], {});
    EXPECT_DOUBLE_EQ(result.expected.time_s, expected.time_s) << machines[point];
  }
}

TEST(ExpectedSweep, of_a_recording_has_no_times_of_what_was_not_recorded) {
  const std::string recording = STRATA_SOURCE_DIR "/tests/recordings/resnet18.json";
  for (const auto& [axis, values] :
       {std::pair{"optimizer", "adam"}, {"amp", "bf16"}, {"batch", "64"}}) {
    Points points(request_of({recording}, {{axis, values}, {"on", "h200"}}));
    EXPECT_NE(points.at(0).error.find("record it"), std::string::npos) << axis;
  }
}

}  // namespace
}  // namespace strata
