// SPDX-License-Identifier: Apache-2.0
#include "strata/api/sweep.hpp"

#include "strata/api/sweep_estimate.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <random>
#include <set>
#include <thread>

namespace strata {
namespace {

SweepRequest make_small_request() {
  SweepRequest request;
  request.models = {"lenet5", "lstm"};
  request.parameters = {{"capacity", "256KiB:4MiB:x2"},
                        {"bandwidth", "100GB/s,616GB/s"},
                        {"batch", "4,16"},
                        {"policy", "best,belady,thesis"},
                        {"on", "rtx-2080-ti,a100-40gb"}};
  return request;
}
const SweepRequest small_request = make_small_request();

std::string error_of(const SweepRequest& request) {
  try {
    const Sweep sweep(request);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// What a point asks for, put together by hand from its cells.
PredictRequest request_of(const std::vector<SweepCell>& cells,
                          const std::vector<ColumnHead>& heads) {
  PredictRequest request;
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (!heads[i].is_axis) continue;
    if (heads[i].name == "batch") request.sizes.batch = cells[i].whole;
    if (heads[i].name == "capacity_bytes") set_option(request, "capacity", cells[i].text + "B");
    if (heads[i].name == "bandwidth_bytes_per_s")
      set_option(request, "bandwidth", cells[i].text + "B/s");
    if (heads[i].name == "policy") set_option(request, "policy", cells[i].text);
  }
  return request;
}

const SweepCell& cell_named(std::string_view name, const std::vector<SweepCell>& cells,
                            const std::vector<ColumnHead>& heads) {
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (heads[i].name == name) return cells[i];
  }
  throw std::runtime_error("no such column");
}

SweepRequest rates_under_best() {
  SweepRequest request;
  request.models = {"resnet18"};
  request.parameters = {{"capacity", "8MiB:400MiB:8MiB"},
                        {"bandwidth", "100GB/s:2000GB/s:100GB/s"},
                        {"batch", "8"},
                        {"policy", "best"},
                        {"on", "rtx-2080-ti"}};
  return request;
}

TEST(Sweep, workers_that_share_what_best_finds_find_what_one_alone_does) {
  const Sweep sweep(rates_under_best());
  const std::int64_t points = sweep.grid().size();
  std::vector<PointTotals> alone;
  const std::unique_ptr<PointWorker> worker = sweep.worker();
  for (std::int64_t point = 0; point < points; ++point) alone.push_back(worker->at(point).totals);
  std::vector<PointTotals> together(alone.size());
  const std::int64_t in_run = sweep.range().in_run;
  std::vector<std::thread> threads;
  for (std::int64_t number = 0; number < 3; ++number) {
    threads.emplace_back([&, number] {
      std::vector<std::int64_t> runs;
      for (std::int64_t run = number; run < points / in_run; run += 3) runs.push_back(run);
      // One comes from the other end, so that nobody can lean on an order.
      if (number == 1) std::reverse(runs.begin(), runs.end());
      const std::unique_ptr<PointWorker> mine = sweep.worker();
      for (const std::int64_t run : runs) {
        for (std::int64_t point = run * in_run; point < (run + 1) * in_run; ++point)
          together[static_cast<std::size_t>(point)] = mine->at(point).totals;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
}

TEST(Sweep, estimated_time_is_near_what_many_rates_under_best_take) {
  const Sweep sweep(rates_under_best());
  const double estimated_s = estimated_time_s(sweep, 0, 1);
  const std::clock_t begin = std::clock();
  const std::unique_ptr<PointWorker> worker = sweep.worker();
  for (std::int64_t point = 0; point < sweep.grid().size(); ++point) worker->at(point);
  const double taken_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(estimated_s, 4 * taken_s);
  EXPECT_GT(estimated_s, taken_s / 4);
}

TEST(Sweep, every_point_is_what_predict_says) {
  const Sweep sweep(small_request);
  EXPECT_EQ(sweep.grid().size(), 2 * 5 * 2 * 2 * 3 * 2);
  EXPECT_EQ(sweep.program_count(), 4);
  const std::unique_ptr<PointWorker> worker = sweep.worker();
  const std::vector<ColumnHead>& heads = sweep.columns().heads();
  std::mt19937 random(3);
  std::vector<SweepCell> cells;
  for (int round = 0; round < 40; ++round) {
    const auto point = static_cast<std::int64_t>(random()) % sweep.grid().size();
    const PointResult result = worker->at(point);
    ASSERT_EQ(result.error, "");
    sweep.columns().fill(cells, point, result);
    const Graph graph = load_model(cell_named("model", cells, heads).text);
    const PredictedIteration alone = predict_model(
        graph, load_machine(cell_named("machine", cells, heads).text), request_of(cells, heads));
    const PredictionTotals& totals = alone.summary.totals;
    EXPECT_EQ(cell_named("time_s", cells, heads).real, totals.time_s);
    EXPECT_EQ(cell_named("compute_time_s", cells, heads).real, totals.compute_time_s);
    EXPECT_EQ(cell_named("stall_time_s", cells, heads).real, totals.stall_time_s);
    EXPECT_EQ(cell_named("traffic_in_bytes", cells, heads).whole, totals.traffic_in_bytes);
    EXPECT_EQ(cell_named("traffic_out_bytes", cells, heads).whole, totals.traffic_out_bytes);
    EXPECT_EQ(cell_named("refetch_bytes", cells, heads).whole, totals.refetch_bytes);
    EXPECT_EQ(cell_named("average_bandwidth_bytes_per_s", cells, heads).real,
              totals.average_bandwidth_bytes_per_s);
    EXPECT_EQ(cell_named("utilisation", cells, heads).real, totals.utilisation);
    EXPECT_EQ(cell_named("samples_per_s", cells, heads).real, totals.samples_per_s);
    EXPECT_EQ(cell_named("peak_occupied_bytes", cells, heads).whole, totals.peak_on_chip_bytes);
    EXPECT_EQ(cell_named("footprint_bytes", cells, heads).whole, totals.footprint_bytes);
    EXPECT_EQ(cell_named("throughput_flop_per_s", cells, heads).real,
              alone.summary.hardware.dense_flop_per_s);
  }
}

TEST(Sweep, what_is_costly_changes_slowest) {
  const Sweep sweep(small_request);
  std::vector<std::string> names;
  for (const Axis& axis : sweep.grid().axes()) names.push_back(axis.name());
  EXPECT_EQ(names, (std::vector<std::string>{"model", "batch", "policy", "capacity", "machine",
                                             "bandwidth"}));
  const PointRange range = sweep.range();
  EXPECT_EQ(range.in_group, 5 * 2 * 2);
  EXPECT_EQ(range.in_run, 2 * 2);
}

TEST(Sweep, identity_tells_sweeps_apart_and_not_spellings) {
  SweepRequest other = small_request;
  std::swap(other.parameters[0], other.parameters[2]);
  other.parameters[2].values = "0.25MiB:4096KiB:x2";
  EXPECT_EQ(Sweep(other).identity().hash, Sweep(small_request).identity().hash);
  std::set<std::string> hashes = {Sweep(small_request).identity().hash};
  for (const SweepValues& change :
       {SweepValues{"capacity", "256KiB:8MiB:x2"}, SweepValues{"batch", "4,8"},
        SweepValues{"on", "rtx-2080-ti"}, SweepValues{"policy", "best"}}) {
    SweepRequest changed = small_request;
    for (SweepValues& given_values : changed.parameters) {
      if (given_values.name == change.name) given_values.values = change.values;
    }
    EXPECT_TRUE(hashes.insert(Sweep(changed).identity().hash).second) << change.name;
  }
  SweepRequest thesis = small_request;
  thesis.preset = "thesis";
  EXPECT_TRUE(hashes.insert(Sweep(thesis).identity().hash).second);
}

TEST(Sweep, a_point_that_fails_is_a_value_with_a_reason) {
  const Sweep sweep({.models = {"lenet5"},
                     .parameters = {{"capacity", "1KiB,8MiB"}, {"strict-minimum", "true"}}});
  const std::unique_ptr<PointWorker> worker = sweep.worker();
  EXPECT_NE(worker->at(0).error.find("is too small"), std::string::npos);
  EXPECT_EQ(worker->at(1).error, "");
  const Sweep types(
      {.models = {"lenet5"}, .parameters = {{"dtype", "fp8,fp32,int8"}, {"on", "rtx-2080-ti"}}});
  const std::unique_ptr<PointWorker> other = types.worker();
  EXPECT_NE(other->at(0).error.find("has no rate for fp8"), std::string::npos);
  EXPECT_EQ(other->at(1).error, "");
  EXPECT_NE(other->at(2).error.find("has no gradients"), std::string::npos);
}

TEST(Sweep, numbers_of_machines_are_axes) {
  const Sweep sweep(
      {.models = {"lenet5"},
       .parameters = {{"on", "rtx-2080-ti"}, {"machine.memory.l2.capacity_bytes", "1MiB,2MiB"}}});
  const std::unique_ptr<PointWorker> worker = sweep.worker();
  EXPECT_EQ(worker->at(0).hardware.capacity_bytes, 1 << 20);
  EXPECT_EQ(worker->at(1).hardware.capacity_bytes, 2 << 20);
}

TEST(Sweep, errors_of_the_request_come_before_anything_is_computed) {
  EXPECT_EQ(error_of({}), "no network is given");
  EXPECT_NE(error_of({.models = {"lenet6"}}).find("lenet5"), std::string::npos);
  EXPECT_NE(error_of({.models = {"lenet5"}, .parameters = {{"bach", "4"}}}).find("batch"),
            std::string::npos);
  EXPECT_NE(error_of({.models = {"lenet5"}, .parameters = {{"policy", "best,bset"}}}), "");
  EXPECT_NE(error_of({.models = {"lenet5"}, .parameters = {{"dtype", "fp33"}}}), "");
  EXPECT_NE(error_of({.models = {"lenet5"}, .parameters = {{"on", "rtx"}}}), "");
  EXPECT_NE(error_of({.models = {"lenet5"},
                      .parameters = {{"machine.memory.l9.capacity_bytes", "1MiB"}}}),
            "");
  EXPECT_EQ(error_of({.models = {"lenet5"}, .parameters = {{"batch", "1"}, {"batch", "2"}}}),
            "--batch: batch is given twice");
  EXPECT_EQ(error_of({.models = {"lenet5"},
                      .parameters = {{"inference", "true"}, {"optimizer", "adam"}}}),
            "--optimizer is about training and does not go with --inference");
  EXPECT_NE(error_of({.models = {"lenet5"}, .preset = "thesys"}), "");
  EXPECT_EQ(error_of({.models = {"lenet5", "lenet5"}}), "MODEL: the value lenet5 comes twice");
}

std::string file_error(const char* name, std::string_view text) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.file(name, text);
  try {
    const Sweep sweep(read_sweep_file(path));
  } catch (const Error& error) {
    std::string message = error.what();
    const std::size_t at = message.find(name);
    return at == std::string::npos ? message : message.substr(at);
  }
  return "";
}

TEST(SweepFile, says_the_same_as_flags) {
  const test::TemporaryFolder folder;
  const auto toml = folder.file("big.toml", R"(strata_sweep = 1
models = ["lenet5", "lstm"]
on = ["rtx-2080-ti", "a100-40gb"]
[axes]
capacity = "256KiB:4MiB:x2"
bandwidth = ["100GB/s", "616GB/s"]
batch = [4, 16]
policy = "best,belady,thesis"
)");
  const auto json = folder.file("big.json", R"({"strata_sweep": 1, "models": ["lenet5", "lstm"],
    "axes": {"on": "rtx-2080-ti,a100-40gb", "capacity": "256KiB:4MiB:x2",
             "bandwidth": "100GB/s,616GB/s", "batch": "4,16", "policy": "best,belady,thesis"}})");
  EXPECT_TRUE(is_sweep_file(toml));
  EXPECT_TRUE(is_sweep_file(json));
  const std::string hash = Sweep(small_request).identity().hash;
  EXPECT_EQ(Sweep(read_sweep_file(toml)).identity().hash, hash);
  EXPECT_EQ(Sweep(read_sweep_file(json)).identity().hash, hash);
  EXPECT_FALSE(is_sweep_file(folder.file("net.json", R"({"strata_network": 1})")));
  EXPECT_FALSE(is_sweep_file(folder.path()));
}

TEST(SweepFile, dotted_names_are_tables) {
  const test::TemporaryFolder folder;
  const auto path = folder.file("m.toml", R"(strata_sweep = 1
models = "lenet5"
on = "rtx-2080-ti"
[axes]
machine.memory.l2.capacity_bytes = "1MiB:4MiB:x2"
)");
  EXPECT_EQ(Sweep(read_sweep_file(path)).grid().size(), 3);
}

TEST(SweepFile, errors_name_the_line) {
  EXPECT_EQ(file_error("a.toml", "models = \"lenet5\"\n"),
            "a.toml: the key 'strata_sweep = 1' is missing");
  EXPECT_EQ(file_error("a.toml", "strata_sweep = 2\n"),
            "a.toml: line 1: key 'strata_sweep': this Strata reads version 1");
  EXPECT_EQ(
      file_error("a.toml", "strata_sweep = 1\nmodels = \"lenet5\"\n[axes]\nbatch = \"4:2:1\"\n"),
      "a.toml: line 4: batch: the range '4:2:1' runs backwards; write 2:4:1");
  EXPECT_NE(file_error("a.toml", "strata_sweep = 1\nmodel = \"lenet5\"\n").find("line 2"),
            std::string::npos);
  EXPECT_NE(file_error("a.toml", "strata_sweep = 1\n[axes]\nbatch = []\n").find("line 3"),
            std::string::npos);
  EXPECT_NE(file_error("a.toml", "strata_sweep = 1\n[axes]\nbatch = [[1]]\n").find("line 3"),
            std::string::npos);
  EXPECT_NE(file_error("a.toml", "strata_sweep = [\n"), "");
  std::string deep = "{\"strata_sweep\": 1, \"axes\": ";
  for (int i = 0; i < 1000; ++i) deep += "{\"a\":";
  EXPECT_NE(file_error("a.json", deep).find("nested deeper"), std::string::npos);
}

}  // namespace
}  // namespace strata
