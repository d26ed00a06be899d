// SPDX-License-Identifier: Apache-2.0
// Whatever network there is can be predicted on whatever machine ships.
#include "strata/base/error.hpp"
#include "strata/importers/importers.hpp"
#include "strata/strata.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace strata {
namespace {

PredictRequest quick_request() {
  PredictRequest request;
  request.options.policy = Policy::thesis;
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  return request;
}

void expect_predicted(const Graph& graph, const Machine& machine) {
  PredictRequest request = quick_request();
  // What is built for training alone has no rate for fp32.
  const bool has_fp32 = find_peak(machine, DType::fp32, ComputeUnit::vector) != nullptr;
  if (!has_fp32) request.sizes.dtype = DType::bf16;
  const PredictedIteration iteration = predict_model(graph, machine, request);
  const PredictionTotals& totals = iteration.summary.totals;
  const bool does_something = !iteration.program.steps.empty();  // a reshape alone does not
  EXPECT_TRUE(std::isfinite(totals.time_s)) << totals.time_s;
  EXPECT_EQ(totals.time_s > 0, does_something) << totals.time_s;
  EXPECT_GE(totals.time_s, totals.compute_time_s);
}

// Each network on some machines, in turn, so that each machine has its share of the networks.
TEST(EveryNetwork, of_the_zoo_is_predicted_on_some_of_all_machines) {
  constexpr std::size_t machines_per_network = 5;
  const std::vector<Machine>& machines = shipped_machines();
  ASSERT_GE(networks().size() * machines_per_network, machines.size());
  std::size_t next = 0;
  for (const Network& network : networks()) {
    const Graph graph = build_network(network.name);
    for (std::size_t i = 0; i < machines_per_network; ++i) {
      const Machine& machine = machines[next++ % machines.size()];
      SCOPED_TRACE(testing::Message() << network.name << " on " << machine.name);
      EXPECT_NO_THROW(expect_predicted(graph, machine));
    }
  }
}

// A machine without the network's data type says so; there is no other reason not to predict.
TEST(EveryNetwork, in_a_file_that_is_read_is_predicted) {
  const char* const models = std::getenv("STRATA_MODELS");
  if (models == nullptr) GTEST_SKIP() << "STRATA_MODELS is not set: no collection of model files";
  const Machine machine = load_machine("h200");
  const std::set<std::string> endings = {".onnx", ".json", ".cfg", ".prototxt", ".h5", ".keras"};
  int predicted = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(models)) {
    if (!entry.is_regular_file() || !endings.contains(entry.path().extension().string())) continue;
    SCOPED_TRACE(entry.path().string());
    Graph graph;
    try {
      graph = import_model(entry.path());
    } catch (const Error&) {
      continue;  // what is refused, and why, is tested beside the importers
    }
    EXPECT_NO_THROW(expect_predicted(graph, machine));
    ++predicted;
  }
  EXPECT_GT(predicted, 0);
}

}  // namespace
}  // namespace strata
