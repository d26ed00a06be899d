// SPDX-License-Identifier: Apache-2.0
// A sweep over capacities on one core: points per second through one SweepProgram ("shared"), and
// the same points predicted one by one ("alone"); their ratio is what sharing brings. ResNet-50:
// 24 … 1000 MB in steps of 2 (goal: 10,000 points/s under policy thesis); GNMT with 8+8 layers in
// steps of 64 (goal: 300 points/s).
#include "strata/sweep/sweep_program.hpp"
#include "strata/zoo/zoo.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace {

using namespace strata;

struct Iteration {
  explicit Iteration(const std::string& name)
      : graph(build_network(name)),
        bound(bind_graph(graph, {{"batch", 32}})),
        program(make_program(bound)) {}
  Graph graph;
  BoundGraph bound;
  Program program;
};

template <class At>
void over_capacities(benchmark::State& state, std::int64_t step_mb, At at) {
  std::int64_t points = 0;
  for (std::int64_t mb = 24; mb <= 1000; mb += step_mb, ++points) {
    const Hardware hardware{mb << 20, 616e9, 13.45e12, 13.45e12, false};
    benchmark::DoNotOptimize(at(hardware));
  }
  state.SetItemsProcessed(state.items_processed() + points);
}

void shared(benchmark::State& state, const std::string& name, Policy policy) {
  const Iteration iteration(name);
  PredictOptions options;
  options.policy = policy;
  for (auto _ : state) {
    SweepProgram sweep(iteration.program, options);
    over_capacities(state, state.range(0), [&](const Hardware& on) { return sweep.at(on).time_s; });
  }
}

void alone(benchmark::State& state, const std::string& name, Policy policy) {
  const Iteration iteration(name);
  const AccessList list(iteration.program);
  PredictOptions options;
  options.policy = policy;
  for (auto _ : state) {
    over_capacities(state, state.range(0), [&](const Hardware& on) {
      return predict(list, on, options, Record::totals).time_s;
    });
  }
}

BENCHMARK_CAPTURE(shared, resnet50_thesis, "resnet50", Policy::thesis)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(alone, resnet50_thesis, "resnet50", Policy::thesis)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(shared, resnet50_best, "resnet50", Policy::best)
    ->Arg(16)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(alone, resnet50_best, "resnet50", Policy::best)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(shared, gnmt_thesis, "gnmt:layers=8", Policy::thesis)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(alone, gnmt_thesis, "gnmt:layers=8", Policy::thesis)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);

}  // namespace
