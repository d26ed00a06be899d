// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/sweep_program.hpp"

#include "random_case.hpp"
#include "strata/base/error.hpp"
#include "strata/training/split.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

/// A sweep shares work between its points; every point must come out as if it were alone.
namespace strata {
namespace {

std::optional<PointTotals> alone(const AccessList& list, const Hardware& hardware,
                                 const PredictOptions& options) {
  try {
    const Prediction all = predict(list, hardware, options, Record::steps);
    return PointTotals{all.time_s,   all.compute_s, all.stall_s,       all.drain_s,
                       all.in_bytes, all.out_bytes, all.refetch_bytes, all.peak_occupied_bytes};
  } catch (const Error&) {
    return {};
  }
}

std::optional<PointTotals> shared(SweepProgram& sweep, const Hardware& hardware) {
  try {
    return sweep.at(hardware);
  } catch (const Error&) {
    return {};
  }
}

// Up in small steps, as sweeps go, and then back and forth; a few rates at each capacity.
TEST(SweptProgram, EveryRandomPointIsAsIfAlone) {
  int answers = 0;
  int refusals = 0;
  for (std::uint32_t seed = 0; seed < 500 && !HasFailure(); ++seed) {
    Case c(seed);
    c.options.policy = static_cast<Policy>(c.pick(0, 2));
    c.options.objective = static_cast<Objective>(c.pick(0, 1));
    c.options.minimum_slack = c.pick(0, 2) == 0 ? 0.1 : 0;
    c.options.granularity_bytes = c.pick(0, 3) == 0 ? c.pick(1, 8) : 0;
    const Program parts = c.options.granularity_bytes > 0
                              ? split_values(c.program, c.options.granularity_bytes)
                              : c.program;
    const AccessList list(parts);
    SweepProgram sweep(c.program, c.options);
    Hardware rates[] = {c.hardware, c.hardware};
    rates[1].bytes_per_s *= 2;
    for (int i = 0; i < 12; ++i) {
      const std::int64_t step = i < 8 ? c.pick(1, 3) : c.pick(-40, 40);
      for (Hardware& hardware : rates) {
        hardware.capacity_bytes += step;
        const auto expected = alone(list, hardware, c.options);
        EXPECT_EQ(shared(sweep, hardware), expected) << "capacity " << hardware.capacity_bytes << c;
        ++(expected ? answers : refusals);
      }
    }
  }
  EXPECT_GT(answers, 5'000);
  EXPECT_GT(refusals, 300);
}

TEST(SweptProgram, EveryPointOfNetworksIsAsIfAlone) {
  for (const std::string name :
       {"resnet50", "transformer_thesis:layers=2", "gnmt_thesis:layers=2"}) {
    const Graph graph = build_network(name);
    const BoundGraph bound = bind_graph(graph, {{"batch", 8}});
    const Program program = make_program(bound);
    const AccessList list(program);
    for (const Policy policy : {Policy::thesis, Policy::belady, Policy::best}) {
      PredictOptions options;
      options.policy = policy;
      options.tries_smaller_capacities = program.steps.size() < 1000;
      SweepProgram sweep(program, options);
      for (const std::int64_t kilobytes : {16'000, 16'001, 24'000, 26'000, 60'000, 200'000}) {
        for (const double bytes_per_s : {616e9, 1555e9}) {
          const Hardware hardware{kilobytes << 10, bytes_per_s, 13.45e12, 6.7e12, false};
          EXPECT_EQ(shared(sweep, hardware), alone(list, hardware, options))
              << name << ", " << kilobytes << " KiB, policy " << static_cast<int>(policy);
        }
      }
    }
  }
}

}  // namespace
}  // namespace strata
