// SPDX-License-Identifier: Apache-2.0
// One prediction once the program exists. "timed_pass" is a plan scheduled and simulated (budgets:
// ResNet-50 0.2 ms, GNMT with 8+8 layers, some 27,000 steps, 10 ms), "pass_alone" only the latter,
// the hot path of a sweep. "farthest" is the plan before it, "best" the whole decision of the
// default policy (budget for ResNet-50: 20 ms). "chain" shows the growth with the number of steps,
// planning included, as time per step: a million steps in 2 s is 2 µs each. Its peak_rss_mb is that
// of the process so far (budget 1,000; run it alone with --benchmark_filter='^chain/').
#include "strata/predict/best.hpp"
#include "strata/reproduce/thesis_network.hpp"
#include "strata/training/synthetic.hpp"

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <string>
#include <vector>

namespace {

using namespace strata;

Hardware hardware_with(std::int64_t capacity_mib) {
  return {.capacity_bytes = capacity_mib << 20,
          .bytes_per_s = thesis_bytes_per_s,
          .dense_flop_per_s = thesis_flop_per_s,
          .other_flop_per_s = thesis_flop_per_s,
          .mac_is_one = true};
}

void timed_pass(benchmark::State& state, const std::string& name) {
  const ThesisNetwork network(name);
  const Hardware hardware = hardware_with(state.range(0));
  const PredictOptions options = thesis_prediction();
  const Plan plan = farthest_next_use_plan(network.list(), hardware.capacity_bytes, options);
  for (auto _ : state)
    benchmark::DoNotOptimize(simulate(network.list(), plan, hardware, options, Record::totals));
  state.counters["steps"] = static_cast<double>(network.program().steps.size());
}

void pass_alone(benchmark::State& state, const std::string& name) {
  const ThesisNetwork network(name);
  const Hardware hardware = hardware_with(state.range(0));
  const PredictOptions options = thesis_prediction();
  const Plan plan = farthest_next_use_plan(network.list(), hardware.capacity_bytes, options);
  std::vector<double> compute_s;
  compute_times(network.program(), hardware, compute_s);
  PlannedSteps planned(network.list());
  planned.schedule(plan, options, compute_s, hardware.bytes_per_s);
  TimedPass pass;
  for (auto _ : state)
    benchmark::DoNotOptimize(pass.run(planned, {hardware.capacity_bytes, hardware.bytes_per_s},
                                      compute_s, Record::totals)
                                 .time_s);
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // Linux counts KiB
}

void farthest(benchmark::State& state, const std::string& name) {
  const ThesisNetwork network(name);
  const Hardware hardware = hardware_with(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(
        farthest_next_use_plan(network.list(), hardware.capacity_bytes, thesis_prediction()));
}

void best(benchmark::State& state, const std::string& name) {
  const ThesisNetwork network(name);
  const Hardware hardware = hardware_with(state.range(0));
  for (auto _ : state) {
    BestPlanner planner(network.list(), hardware, {});
    benchmark::DoNotOptimize(planner.choose(hardware.capacity_bytes));
  }
}

void chain(benchmark::State& state) {
  const Program program = chain_program(static_cast<std::size_t>(state.range(0)));
  const AccessList list(program);
  const Hardware hardware = hardware_with(128);
  PredictOptions options;
  options.policy = Policy::thesis;
  for (auto _ : state) benchmark::DoNotOptimize(predict(list, hardware, options, Record::totals));
  state.counters["per_step"] = benchmark::Counter(
      static_cast<double>(program.steps.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["peak_rss_mb"] = peak_rss_mb();
}

BENCHMARK_CAPTURE(timed_pass, resnet50, "resnet50_keras")->Arg(24)->Arg(128)->Arg(500);
BENCHMARK_CAPTURE(timed_pass, gnmt, "gnmt_thesis:layers=8")
    ->Arg(128)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pass_alone, resnet50, "resnet50_keras")->Arg(24)->Arg(128)->Arg(500);
BENCHMARK_CAPTURE(pass_alone, gnmt, "gnmt_thesis:layers=8")
    ->Arg(128)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(farthest, resnet50, "resnet50_keras")->Arg(128);
BENCHMARK_CAPTURE(best, resnet50, "resnet50_keras")
    ->Arg(24)
    ->Arg(128)
    ->Arg(500)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(chain)->RangeMultiplier(10)->Range(1'000, 1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
