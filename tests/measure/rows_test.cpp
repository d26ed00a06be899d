// SPDX-License-Identifier: Apache-2.0
// A measurement has the rows of a prediction, so that the two can be laid side by side.
#include "strata/measure/engine/measure_training.hpp"
#include "strata/strata.hpp"
#include "strata/zoo/zoo.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

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
  for (const ProfileRow& row : iteration.summary.profile.rows) rows[key_of(row)] += row.spent.flop;
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

Rows measured_rows(const Graph& network) {
  const Graph graph = with_loss(network, Loss::automatic);
  const BoundGraph bound = bind_model(graph, {.batch = 2});
  IdleDevice device;
  MeasureOptions options;
  options.network_nodes = network.nodes.size();
  options.iterations = 1;
  options.warm_up = 1;
  Rows rows;
  for (const ProfileRow& row : measure_training(bound, device, options).profile.rows)
    rows[key_of(row)] += row.spent.flop;
  return rows;
}

TEST(MeasuredRows, are_those_of_a_prediction) {
  for (const char* name : {"lenet5", "squeezenet1_1", "lstm_stack:layers=2,hidden=8,features=8",
                           "transformer_base:layers=1,vocabulary=50"}) {
    SCOPED_TRACE(name);
    const Graph graph = build_network(name);
    EXPECT_EQ(measured_rows(graph), predicted_rows(graph));
  }
}

}  // namespace
}  // namespace strata
