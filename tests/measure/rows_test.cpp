// SPDX-License-Identifier: Apache-2.0
// A measurement has the rows of a prediction, so that the two can be laid side by side.
#include "strata/graph/builder.hpp"
#include "strata/measure/engine/measure_training.hpp"
#include "strata/predict/plan.hpp"
#include "strata/predict/simulate.hpp"
#include "strata/strata.hpp"
#include "strata/zoo/zoo.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <ostream>
#include <vector>

namespace strata {
namespace {

using Rows = std::map<std::string, std::int64_t>;  // FLOP by everything that names a row

std::string key_of(const ProfileRow& row) {
  return fmt::format("{} | {} | {} | {} | {}", row.layer, row.pass, row.op, row.block,
                     row.layer_class);
}

Rows predicted_rows(const Graph& graph) {
  PredictRequest request;
  request.sizes.batch = 2;
  request.training.separate_backward = true;
  request.training.unroll_recurrent = false;
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  Rows rows;
  const PredictedIteration iteration = predict_model(graph, load_machine("h100-sxm"), request);
  for (const ProfileRow& row : iteration.summary.profile.rows) rows[key_of(row)] += row.totals.flop;
  return rows;
}

/// Every operator of the network gets kernels that do nothing: the rows are what counts here.
class IdleDevice final : public TrainingDevice {
 public:
  std::string name() const override { return "idle"; }
  std::vector<std::string> versions() const override { return {}; }
  std::int64_t free_bytes() const override { return std::int64_t{1} << 40; }
  std::shared_ptr<void> allocate(std::int64_t) override { return memory_; }
  void upload(void*, const void*, std::int64_t) override {}
  void download(void* to, const void*, std::int64_t bytes) override {
    std::memset(to, 0, static_cast<std::size_t>(bytes));
  }
  void wait() override {}
  void fill_zero(void*, std::int64_t) override {}
  void add(void*, const void*, const void*, std::int64_t, DType) override {}
  void update(const UpdateRule&, const UpdateMemory&) override {}
  KernelsOrReason kernels(const BoundGraph&, NodeId, bool) override {
    return std::make_unique<IdleKernels>();
  }
  std::unique_ptr<Stopwatch> stopwatch(std::size_t marks) override {
    return std::make_unique<StoppedWatch>(marks);
  }

 private:
  class IdleKernels final : public NodeKernels {
    NodeNeeds needs() const override { return {}; }
    void run(Pass, const NodeMemory&) override {}
  };
  class StoppedWatch final : public Stopwatch {
   public:
    explicit StoppedWatch(std::size_t marks) : marks_(marks) {}
    void mark(std::size_t) override {}
    std::vector<double> seconds() override { return std::vector<double>(marks_); }

   private:
    std::size_t marks_;
  };
  std::shared_ptr<int> memory_ = std::make_shared<int>();  // nobody touches it
};

std::vector<ProfileRow> measured_profile(const Graph& network) {
  const Graph graph = with_loss(network, Loss::automatic);
  const BoundGraph bound = bind_model(graph, {.batch = 2});
  IdleDevice device;
  MeasureOptions options;
  options.network_nodes = network.nodes.size();
  options.iterations = 1;
  options.warm_up = 1;
  return measure_training(bound, device, options).profile.rows;
}

Rows measured_rows(const Graph& network) {
  Rows rows;
  for (const ProfileRow& row : measured_profile(network)) rows[key_of(row)] += row.totals.flop;
  return rows;
}

/// What layers read and write, by layer and pass. The loss is apart: as a node it has a gradient of
/// its own.
struct RowBytes {
  std::int64_t in = 0, out = 0;
  void add(std::int64_t in_bytes, std::int64_t out_bytes) {
    in += in_bytes;
    out += out_bytes;
  }
  friend bool operator==(const RowBytes&, const RowBytes&) = default;
  friend void PrintTo(const RowBytes& bytes, std::ostream* to) {
    *to << bytes.in << " in, " << bytes.out << " out";
  }
};
using BytesOfRows = std::map<std::string, RowBytes>;

BytesOfRows measured_bytes(const Graph& network) {
  BytesOfRows rows;
  for (const ProfileRow& row : measured_profile(network)) {
    if (row.op != "loss" && row.layer.find("sum for ") != 0)
      rows[row.layer + " " + row.pass].add(row.totals.in_bytes, row.totals.out_bytes);
  }
  return rows;
}

/// On a machine that keeps nothing on chip from one step to the next.
BytesOfRows predicted_bytes(const Graph& graph) {
  const BoundGraph bound = bind_model(graph, {.batch = 2});
  const Program program =
      make_program(bound, {.separate_backward = true, .unroll_recurrent = false});
  const AccessList list(program);
  const Hardware hardware{std::int64_t{1} << 40, 1e12, 1e12, 1e12, false};
  const Prediction prediction =
      simulate(list, empty_plan(list, hardware.capacity_bytes, {}), hardware, {});
  BytesOfRows rows;
  for (StepId id = 0; id < program.steps.size(); ++id) {
    const Step& step = program.steps[id];
    if (step.node == no_node) continue;
    const StepResult& result = prediction.steps[id];
    rows[graph.nodes[step.node].name + " " + std::string(name_of(step.pass))].add(result.in_bytes,
                                                                                  result.out_bytes);
  }
  return rows;
}

/// A slice of a feature, two parts with one gradient, a joint of which one input wants no gradient,
/// a weight of two layers.
Graph cut_and_joined() {
  GraphBuilder b("cut");
  const Dim batch = b.symbols().parameter("batch", 2);
  const TensorId x = b.input("x", {batch, 8});
  const TensorId y = b.add("first", Linear{8}, {x});
  const TensorId half = b.add("slice", Slice{{1}, {2}, {6}, {}}, {y});
  const NodeId parts = b.add_node("parts", Split{.axis = 1, .parts = 2}, std::vector{y});
  const TensorId sum = b.add("sum", Elementwise{}, {b.output_of(parts, 0), b.output_of(parts, 1)});
  const TensorId joined = b.add("joined", Concat{1}, {half, sum});
  const NodeId again = b.add_node("again", Linear{8}, std::vector{joined},
                                  std::vector{b.own_of(y, 0), b.own_of(y, 1)});
  b.output(b.add("beside", Concat{1}, {b.output_of(again), x}));
  return std::move(b).finish();
}

TEST(MeasuredRows, are_those_of_a_prediction) {
  for (const char* name : {"lenet5", "squeezenet1_1", "lstm_stack:layers=2,hidden=8,features=8",
                           "transformer_base:layers=1,vocabulary=50"}) {
    SCOPED_TRACE(name);
    const Graph graph = build_network(name);
    EXPECT_EQ(measured_rows(graph), predicted_rows(graph));
  }
}

TEST(MeasuredRows, have_the_bytes_of_a_prediction) {
  const auto expect_equal = [](const Graph& graph) {
    SCOPED_TRACE(graph.name);
    EXPECT_EQ(measured_bytes(graph), predicted_bytes(graph));
  };
  expect_equal(cut_and_joined());
  for (const char* name :
       {"lenet5", "squeezenet1_1", "googlenet", "transformer_base:layers=1,vocabulary=50"})
    expect_equal(build_network(name));
}

}  // namespace
}  // namespace strata
