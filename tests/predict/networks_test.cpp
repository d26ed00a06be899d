// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/best.hpp"
#include "strata/predict/policy.hpp"
#include "strata/zoo/zoo.hpp"
#include "timeline.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

/// What must be true of every prediction, on the built-in networks.
namespace strata {
namespace {

using reference::Problems;
using reference::Timeline;

/// A network with its program; refers to itself, so it stays where it is.
struct NetworkCase {
  explicit NetworkCase(std::string_view name, std::int64_t batch = 32)
      : graph(build_network(name)),
        bound(bind_graph(graph, {{"batch", batch}})),
        program(make_program(bound)),
        list(program) {}
  NetworkCase(const NetworkCase&) = delete;
  NetworkCase& operator=(const NetworkCase&) = delete;

  Graph graph;
  BoundGraph bound;
  Program program;
  AccessList list;
};

Hardware hardware_of(std::int64_t megabytes) {
  return {megabytes << 20, 616e9, 13.45e12, 13.45e12, false};
}

void expect_timeline_holds(const NetworkCase& network_case, std::int64_t capacity_bytes,
                           Offload offload) {
  Hardware hardware = hardware_of(0);
  hardware.capacity_bytes = capacity_bytes;
  PredictOptions options;
  options.offload = offload;
  const Plan plan = farthest_next_use_plan(network_case.list, capacity_bytes, options);
  EXPECT_EQ(problems_of(network_case.list, plan), Problems{});
  const Prediction prediction =
      simulate(network_case.list, plan, hardware, options, Record::transfers);
  EXPECT_EQ(prediction.in_bytes, traffic_of(network_case.list, plan).in_bytes);
  EXPECT_EQ(prediction.out_bytes, traffic_of(network_case.list, plan).out_bytes);
  const Timeline line(network_case.program, plan, hardware, options, prediction);
  EXPECT_EQ(reference::channel_problems(line), Problems{});
  EXPECT_EQ(reference::order_problems(line), Problems{});
  EXPECT_EQ(reference::occupancy_problems(line), Problems{});
  EXPECT_EQ(reference::Versions(line).problems(), Problems{});
}

TEST(PredictionOfNetworks, EveryTimelineHolds) {
  for (const Network& network : networks()) {
    const NetworkCase network_case(network.name, 4);
    SCOPED_TRACE(network.name);
    std::int64_t rows = 0;
    for (const StepNeed& need : network_case.list.needs) rows = std::max(rows, need.rows_bytes);
    expect_timeline_holds(network_case, rows, Offload::look_ahead);  // weights are sliced
    expect_timeline_holds(network_case, 2 * minimum_capacity(network_case.program).bytes,
                          Offload::on_demand);
  }
}

/// What `best` makes small: the time, and a hundredth of the time that the transfers take.
double best_cost_s(const Prediction& prediction, const Hardware& hardware) {
  const auto traffic = static_cast<double>(prediction.in_bytes + prediction.out_bytes);
  return prediction.time_s + 0.01 * traffic / hardware.bytes_per_s;
}

// In steps of 2 MB, then larger ones, from one capacity to the next and, now and then, asked anew.
TEST(PredictionOfNetworks, BestNeverCostsMoreWithMoreCapacityNorThanThesis) {
  for (const char* name : {"alexnet", "mobilenet_v2", "resnet50", "transformer_thesis"}) {
    const NetworkCase network_case(name);
    BestPlanner planner(network_case.list, hardware_of(0), {});
    double before_s = std::numeric_limits<double>::infinity();
    for (std::int64_t megabytes = 24; megabytes <= 500; megabytes += megabytes < 64 ? 2 : 26) {
      SCOPED_TRACE(std::string(name) + " at " + std::to_string(megabytes) + " MB");
      const Hardware hardware = hardware_of(megabytes);
      const Prediction best = planner.totals_at(hardware.capacity_bytes);
      const double cost_s = best_cost_s(best, hardware);
      EXPECT_LE(cost_s, before_s);
      for (const Prefetch prefetch : {Prefetch::listing, Prefetch::soonest, Prefetch::next_layer}) {
        const PredictOptions typed{.policy = Policy::thesis, .prefetch = prefetch};
        const Prediction other = predict(network_case.list, hardware, typed, Record::totals);
        EXPECT_LE(cost_s, best_cost_s(other, hardware));
        EXPECT_LE(best.time_s, 1.01 * other.time_s);
      }
      if (megabytes % 20 == 4) {
        EXPECT_EQ(best.time_s, predict(network_case.list, hardware, {}, Record::totals).time_s);
      }
      before_s = cost_s;
    }
  }
}

TEST(PredictionOfNetworks, BestFindsTheSameWithThreadsAsAlone) {
  for (const char* name : {"alexnet", "resnet50", "lstm_stack", "transformer_thesis"}) {
    const NetworkCase network_case(name);
    for (const std::int64_t megabytes : {24, 50, 128}) {
      SCOPED_TRACE(std::string(name) + " at " + std::to_string(megabytes) + " MB");
      const Hardware hardware = hardware_of(megabytes);
      BestPlanner alone(network_case.list, hardware, {});
      BestPlanner together(network_case.list, hardware, {});
      together.search_with(4);
      const BestPlanner::Choice one = alone.choose(hardware.capacity_bytes);
      const BestPlanner::Choice same = together.choose(hardware.capacity_bytes);
      EXPECT_EQ(same.plan.capacity_bytes, one.plan.capacity_bytes);
      EXPECT_EQ(same.prefetch, one.prefetch);
      EXPECT_EQ(same.offload, one.offload);
      EXPECT_EQ(together.totals_at(hardware.capacity_bytes).time_s,
                alone.totals_at(hardware.capacity_bytes).time_s);
    }
  }
}

// The weight fits easily: cutting it would hide the 0.5 µs of its load and move twice the bytes.
TEST(PredictionOfNetworks, BestDoesNotDoubleTrafficForAShortStall) {
  const Graph graph = build_network("conv2d:kernel=5");
  Binding binding{{"batch", 16}};
  const BoundGraph bound = bind_graph(graph, binding);
  TrainingOptions training;
  training.loss = Loss::none;
  training.optimizer = Optimizer::none;
  const Program program = make_program(bound, training);
  const AccessList list(program);
  const Hardware hardware{6 << 20, 450e9, 62.5e12, 15.7e12, false};  // fp32: twice the bytes
  const Prediction best = predict(list, hardware, {});
  EXPECT_EQ(best.in_bytes + best.out_bytes,
            2 * std::int64_t{57'761'792});  // every map once, and what is left of the output
  EXPECT_EQ(best.refetch_bytes, 0);
}

// The thesis's list beats `soonest` here; `best` has to find that by itself.
TEST(PredictionOfNetworks, BestFindsTheFasterPrefetch) {
  const NetworkCase network_case("resnet50");
  const Hardware hardware = hardware_of(272);
  const Decision decision = decide(network_case.list, hardware, {});
  const PredictOptions soonest{.prefetch = Prefetch::soonest};
  EXPECT_EQ(decision.options.prefetch, Prefetch::listing);
  EXPECT_LT(simulate(network_case.list, decision).time_s,
            0.995 * predict(network_case.list, hardware, soonest).time_s);
}

TEST(PredictionOfNetworks, FourTimesTheRatesQuarterTheTimeToTheBit) {
  const NetworkCase network_case("resnet50");
  Hardware fast = hardware_of(64);
  fast.bytes_per_s *= 4;
  fast.dense_flop_per_s *= 4;
  fast.other_flop_per_s *= 4;
  for (const Policy policy : {Policy::thesis, Policy::best}) {
    PredictOptions options;
    options.policy = policy;
    EXPECT_EQ(predict(network_case.list, fast, options).time_s * 4,
              predict(network_case.list, hardware_of(64), options).time_s);
  }
}

TEST(PredictionOfNetworks, EnoughCapacityLeavesCompulsoryTrafficOnly) {
  for (const char* name : {"alexnet", "resnet50", "transformer_thesis"}) {
    const NetworkCase network_case(name);
    std::int64_t in_bytes = 0;
    std::int64_t out_bytes = 0;
    for (ValueId id = 0; id < network_case.program.values.size(); ++id) {
      bool is_read_first = false;
      bool is_used = false;
      bool is_written = false;
      for (const Use& use : network_case.program.uses) {
        if (use.value != id) continue;
        is_read_first = is_read_first || (!is_used && use.reads);
        is_written = is_written || use.writes;
        is_used = true;
      }
      const Value& value = network_case.program.values[id];
      if (is_read_first) in_bytes += value.bytes;
      if (is_written && value.is_result) out_bytes += value.bytes;
    }
    PredictOptions options;
    options.policy = Policy::thesis;
    const Prediction prediction = predict(network_case.list, hardware_of(1 << 20), options);
    EXPECT_EQ(prediction.in_bytes, in_bytes) << name;
    EXPECT_EQ(prediction.out_bytes, out_bytes) << name;
  }
}

}  // namespace
}  // namespace strata
