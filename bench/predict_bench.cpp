// SPDX-License-Identifier: Apache-2.0
// One prediction once the program exists. "timed_pass" is the hot path of a sweep: a plan laid over
// time (budgets: ResNet-50 0.2 ms, GNMT with 8+8 layers, some 27,000 steps, 10 ms). "farthest" is
// the plan before it, "best" the whole decision of the default policy (budget for ResNet-50: 20
// ms). "chain" shows the growth with the number of steps, planning included, as time per step: a
// million steps in 2 s is 2 µs each.
#include "strata/predict/best.hpp"
#include "strata/reproduce/thesis_network.hpp"
#include "strata/training/synthetic.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace {

using namespace strata;

Hardware hardware_with(std::int64_t capacity_mb) {
  return {.capacity_bytes = capacity_mb << 20,
          .bytes_per_s = thesis_bytes_per_s,
          .type_1_flop_per_s = thesis_flop_per_s,
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
    benchmark::DoNotOptimize(planner.at(hardware.capacity_bytes));
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
}

BENCHMARK_CAPTURE(timed_pass, resnet50, "resnet50_keras")->Arg(24)->Arg(128)->Arg(500);
BENCHMARK_CAPTURE(timed_pass, gnmt, "gnmt_thesis:layers=8")
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
