// SPDX-License-Identifier: Apache-2.0
// Points of a sweep that are strategies over many devices.
#include "strata/api/parallel.hpp"
#include "strata/api/sweep.hpp"
#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace strata {
namespace {

SweepRequest strategies_of(std::string model, std::vector<SweepValues> parameters) {
  SweepRequest request;
  request.models = {std::move(model)};
  request.parameters = std::move(parameters);
  return request;
}

/// The text of a cell; empty where there is none.
std::string cell_of(const Sweep& sweep, std::int64_t point, const PointResult& result,
                    std::string_view name) {
  std::vector<SweepCell> cells;
  sweep.columns().fill(cells, point, result);
  const std::vector<ColumnHead>& heads = sweep.columns().heads();
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (heads[i].name != name) continue;
    if (cells[i].is_empty) return "";
    if (cells[i].kind == SweepCellKind::text) return cells[i].text;
    return cells[i].kind == SweepCellKind::whole ? std::to_string(cells[i].whole)
                                                 : std::to_string(cells[i].real);
  }
  throw std::runtime_error("no such column: " + std::string(name));
}

TEST(ParallelSweep, every_point_is_what_predict_says_of_the_strategy) {
  const Sweep sweep(strategies_of("gpt2:layers=4", {{"on", "8xa100-80gb,2x4xh100-sxm"},
                                                    {"batch", "16"},
                                                    {"dtype", "bf16"},
                                                    {"optimizer", "adam"},
                                                    {"tp", "1,2"},
                                                    {"pp", "1,2"},
                                                    {"zero", "0,1"},
                                                    {"recompute", "none,full"}}));
  EXPECT_TRUE(sweep.is_parallel());
  EXPECT_FALSE(sweep.has_limit());
  const auto worker = sweep.worker();
  PredictRequest request;
  request.sizes.batch = 16;
  request.sizes.dtype = DType::bf16;
  request.training.optimizer = Optimizer::adam;
  const Graph graph = load_model("gpt2:layers=4");
  ASSERT_EQ(sweep.grid().size(), 32);
  for (std::int64_t point = 0; point < sweep.grid().size(); ++point) {
    const PointResult result = worker->at(point);
    ASSERT_EQ(result.error, "") << point;
    const auto value = [&](std::string_view name) { return cell_of(sweep, point, result, name); };
    const Cluster cluster = load_cluster(value("machine"));
    const std::int64_t ranks = std::stoll(value("tp")) * std::stoll(value("pp"));
    const Strategy strategy = parse_strategy(
        "dp=" + std::to_string(cluster.devices() / ranks) + ",tp=" + value("tp") +
        ",pp=" + value("pp") + ",zero=" + value("zero") + ",recompute=" + value("recompute"));
    const ParallelSummary alone = ParallelModel(graph, cluster, request).predict(strategy);
    EXPECT_EQ(value("strategy"), to_text(strategy));
    EXPECT_DOUBLE_EQ(result.expected.time_s, alone.result.time_s) << to_text(strategy);
    EXPECT_DOUBLE_EQ(result.expected.low_s, alone.result.low_s);
    EXPECT_DOUBLE_EQ(result.expected.high_s, alone.result.high_s);
    EXPECT_EQ(result.expected.memory_bytes, alone.result.most_memory().total_bytes());
    EXPECT_DOUBLE_EQ(result.parallel.mfu, *alone.context.mfu(alone.result.time_s));
    EXPECT_EQ(value("fits"), alone.fits() ? "1" : "0");
    double parts_s = 0;
    for (const double part_s : result.parallel.parts_s) parts_s += part_s;
    EXPECT_NEAR(parts_s, result.expected.time_s, 1e-9 * result.expected.time_s);
  }
}

TEST(ParallelSweep, strategies_that_are_not_legal_are_points_with_a_reason) {
  const Sweep sweep(strategies_of(
      "gpt2:layers=2", {{"on", "8xa100-80gb"}, {"batch", "8"}, {"tp", "1,3,16"}, {"v", "1,2"}}));
  const auto worker = sweep.worker();
  std::size_t failed = 0;
  for (std::int64_t point = 0; point < sweep.grid().size(); ++point) {
    const PointResult result = worker->at(point);
    if (result.error.empty()) continue;
    ++failed;
    EXPECT_EQ(cell_of(sweep, point, result, "expected_s"), "");
    EXPECT_EQ(cell_of(sweep, point, result, "bubble_s"), "");
    EXPECT_EQ(cell_of(sweep, point, result, "error"), result.error);
  }
  EXPECT_EQ(failed, 5U);  // all but dp=8 without chunks
}

TEST(ParallelSweep, without_parts_each_cluster_has_its_best_strategy) {
  const Sweep sweep(strategies_of(
      "gpt2:layers=3", {{"on", "a100-80gb,2x4xa100-80gb"}, {"batch", "8,16"}, {"dtype", "bf16"}}));
  const auto worker = sweep.worker();
  const Graph graph = load_model("gpt2:layers=3");
  for (std::int64_t point = 0; point < sweep.grid().size(); ++point) {
    const PointResult result = worker->at(point);
    ASSERT_EQ(result.error, "");
    PredictRequest request;
    request.sizes.batch = std::stoll(cell_of(sweep, point, result, "batch"));
    request.sizes.dtype = DType::bf16;
    const Cluster cluster = load_cluster(cell_of(sweep, point, result, "machine"));
    ParallelModel model(graph, cluster, request);
    const ParallelChoice choice = model.choose();
    EXPECT_EQ(result.strategy, to_text(choice.best->result.strategy));
    EXPECT_DOUBLE_EQ(result.expected.time_s, choice.best->result.time_s);
  }
}

TEST(ParallelSweep, out_of_memory_is_marked) {
  const Sweep sweep(
      strategies_of("llama2_7b", {{"on", "2xrtx-2080-ti"}, {"batch", "2"}, {"tp", "2"}}));
  const PointResult result = sweep.worker()->at(0);
  EXPECT_EQ(result.error, "");
  EXPECT_TRUE(result.expected.is_out_of_memory());
  EXPECT_EQ(cell_of(sweep, 0, result, "fits"), "0");
}

TEST(ParallelSweep, parts_are_checked_before_anything_is_computed) {
  const auto refused = [](std::vector<SweepValues> parameters) {
    parameters.push_back({"on", "8xa100-80gb"});
    EXPECT_THROW(Sweep(strategies_of("gpt2:layers=2", parameters)), Error)
        << parameters.front().name << "=" << parameters.front().values;
  };
  refused({{"tp", "0"}});
  refused({{"tp", "two"}});
  refused({{"zero", "0,4"}});
  refused({{"zero", "0:8:x2"}});
  refused({{"zero", "0:3:0"}});
  refused({{"sp", "perhaps"}});
  refused({{"schedule", "1f2b"}});
  refused({{"recompute", "blocks"}});  // what one device does has other names
  refused({{"micro", "2"}, {"micro-batches", "4"}});
  refused({{"capacity", "24MiB"}});
  refused({{"tpp", "2"}});
  const Sweep range(strategies_of("gpt2:layers=2", {{"on", "8xa100-80gb"}, {"zero", "0:3:1"}}));
  EXPECT_EQ(range.grid().size(), 4);
}

TEST(ParallelSweep, results_pass_between_processes_and_come_back_from_a_file) {
  const Sweep sweep(
      strategies_of("gpt2:layers=2", {{"on", "4xa100-80gb"}, {"batch", "8"}, {"tp", "1,2,3"}}));
  const auto worker = sweep.worker();
  std::vector<PointResult> results;
  for (std::int64_t point = 0; point < sweep.grid().size(); ++point)
    results.push_back(worker->at(point));
  const std::vector<PointResult> again = unpacked(packed(results));
  ASSERT_EQ(again.size(), results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(again[i].strategy, results[i].strategy);
    EXPECT_EQ(again[i].error, results[i].error);
    EXPECT_EQ(again[i].parallel, results[i].parallel);
    EXPECT_EQ(again[i].expected, results[i].expected);
  }
  const std::string one = packed(std::span(results).first(1));
  EXPECT_TRUE(unpacked_one(one).has_value());
  for (std::size_t bytes = 0; bytes < one.size(); bytes += 7)
    EXPECT_FALSE(unpacked_one(std::string_view(one).substr(0, bytes)).has_value());
}

TEST(ParallelSweep, two_networks_of_links_are_two_sweeps) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "lab.json").string();
  const auto identity_with = [&](const char* rate) {
    std::ofstream(path) << R"({"strata_cluster": 1, "machine": "a100-80gb", "devices_per_node": 4,
        "inside": {"bandwidth_bytes_per_s": )"
                        << rate << R"(, "source": "test"}})";
    return Sweep(strategies_of("gpt2:layers=2", {{"on", path}, {"batch", "8"}})).identity().hash;
  };
  EXPECT_EQ(identity_with("1e11"), identity_with("1e11"));
  EXPECT_NE(identity_with("1e11"), identity_with("2e11"));
}

}  // namespace
}  // namespace strata
