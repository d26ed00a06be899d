// SPDX-License-Identifier: Apache-2.0
// A sweep over capacities on one core, 24 … 1000 MiB in steps of so many MiB: points per second of
// CPU time through one SweepProgram, which is made anew each time; the best of several sweeps,
// since neighbours on a shared machine only ever slow it down. Beside it "alone", the rate of the
// same points predicted one by one in the same run (every so many-th of them), and "ratio", what
// sharing brings. Goals under policy thesis: ResNet-50 10,000 points/s, GNMT with 8+8 layers 300,
// with fused gates (19,000 steps) and with separate ones (30,000). "chain" shows how a point grows
// with the number of steps, as time per step.
#include "strata/sweep/sweep_program.hpp"
#include "strata/training/synthetic.hpp"
#include "strata/zoo/zoo.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <string>

namespace {

using namespace strata;

double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

PredictOptions options_for(Policy policy) {
  PredictOptions options;
  options.policy = policy;
  return options;
}

/// Points per second of CPU time, in the best sweep.
struct Done {
  double best_rate = 0;
  double rate() const { return best_rate; }
};

template <class At>
void over_capacities(Done& done, std::int64_t step_mb, At at) {
  const double start_s = cpu_s();
  double points = 0;
  for (std::int64_t mb = 24; mb <= 1000; mb += step_mb) {
    const Hardware hardware{mb << 20, 616e9, 13.45e12, 13.45e12, false};
    benchmark::DoNotOptimize(at(hardware));
    ++points;
  }
  done.best_rate = std::max(done.best_rate, points / (cpu_s() - start_s));
}

// range(0): MB between points; range(1): so many times as far between those alone.
void sweep(benchmark::State& state, const std::string& name, Policy policy) {
  const Graph graph = build_network(name);
  const BoundGraph bound = bind_graph(graph, {{"batch", 32}});
  const Program program = make_program(bound);
  const AccessList list(program);
  const PredictOptions options = options_for(policy);
  Done shared;
  Done alone;
  for (auto _ : state) {
    SweepProgram points(program, options);
    over_capacities(shared, state.range(0),
                    [&](const Hardware& on) { return points.at(on).time_s; });
    state.PauseTiming();
    over_capacities(alone, state.range(0) * state.range(1), [&](const Hardware& on) {
      return predict(list, on, options, Record::totals).time_s;
    });
    state.ResumeTiming();
  }
  state.counters["points_per_s"] = shared.rate();
  state.counters["alone_per_s"] = alone.rate();
  state.counters["ratio"] = shared.rate() / alone.rate();
  state.counters["steps"] = static_cast<double>(program.steps.size());
}

void sweep_of_chain(benchmark::State& state) {
  const Program program = chain_program(static_cast<std::size_t>(state.range(0)));
  Done done;
  for (auto _ : state) {
    SweepProgram points(program, options_for(Policy::thesis));
    over_capacities(done, 64, [&](const Hardware& on) { return points.at(on).time_s; });
  }
  state.counters["points_per_s"] = done.rate();
  state.counters["ns_per_step"] = 1e9 / (done.rate() * static_cast<double>(program.steps.size()));
}

BENCHMARK_CAPTURE(sweep, resnet50_thesis, "resnet50", Policy::thesis)
    ->Args({2, 4})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sweep, resnet50_best, "resnet50", Policy::best)
    ->Args({16, 8})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sweep, gnmt_thesis, "gnmt:layers=8", Policy::thesis)
    ->Args({2, 64})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sweep, gnmt_separate_gates, "gnmt_thesis:layers=8", Policy::thesis)
    ->Args({2, 64})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sweep, gnmt_best, "gnmt:layers=8", Policy::best)
    ->Args({122, 4})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(sweep_of_chain)->RangeMultiplier(10)->Range(100, 100'000)->Unit(benchmark::kMillisecond);

}  // namespace
