// SPDX-License-Identifier: Apache-2.0
// From a bound network to the program of one training iteration, and the reuse in it. The budget
// for a program of 1,000,000 steps is 1 s and 400 MB; "per_step" must stay the same from the
// shortest to the longest.
#include "strata/graph/bind.hpp"
#include "strata/graph/builder.hpp"
#include "strata/training/program.hpp"
#include "strata/training/reuse.hpp"
#include "strata/training/split.hpp"
#include "strata/training/synthetic.hpp"
#include "strata/zoo/zoo.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace {

using namespace strata;

void report_per_step(benchmark::State& state, std::size_t steps) {
  state.counters["steps"] = static_cast<double>(steps);
  state.counters["per_step"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}

Graph chain_of(std::int64_t nodes) {
  GraphBuilder builder("chain");
  TensorId x = builder.input("x", {32, 64, 56, 56});
  const Convolution convolution{
      .channels = 64, .kernel = {3, 3}, .pad_begin = {1, 1}, .pad_end = {1, 1}, .bias = false};
  for (std::int64_t i = 0; i < nodes; ++i) {
    const std::string number = std::to_string(i);
    switch (i % 3) {
      case 0: x = builder.add("conv" + number, convolution, {x}); break;
      case 1: x = builder.add("norm" + number, BatchNorm{}, {x}); break;
      default: x = builder.add("relu" + number, Unary{}, {x}); break;
    }
  }
  return std::move(builder).finish();
}

void program_of_a_chain(benchmark::State& state) {
  const Graph graph = chain_of(state.range(0));
  const BoundGraph bound = bind_graph(graph, {});
  std::size_t steps = 0;
  for (auto _ : state) {
    const Program program = make_program(bound);
    steps = program.steps.size();
    benchmark::DoNotOptimize(program.uses.data());
  }
  report_per_step(state, steps);
}
BENCHMARK(program_of_a_chain)
    ->Arg(1 << 10)
    ->Arg(1 << 14)
    ->Arg(330000)
    ->Unit(benchmark::kMillisecond);

void program_of_an_unrolled_layer(benchmark::State& state) {
  const Graph graph = build_network("lstm");
  const BoundGraph bound = bind_graph(graph, Binding{{"seq", state.range(0)}});
  std::size_t steps = 0;
  for (auto _ : state) {
    const Program program = make_program(bound);
    steps = program.steps.size();
    benchmark::DoNotOptimize(program.uses.data());
  }
  report_per_step(state, steps);
}
BENCHMARK(program_of_an_unrolled_layer)
    ->Arg(50)
    ->Arg(2000)
    ->Arg(45000)
    ->Unit(benchmark::kMillisecond);

void program_of_network(benchmark::State& state, const char* network) {
  const Graph graph = build_network(network);
  const BoundGraph bound = bind_graph(graph, {});
  std::size_t steps = 0;
  for (auto _ : state) {
    const Program program = make_program(bound);
    steps = program.steps.size();
    benchmark::DoNotOptimize(program.uses.data());
  }
  report_per_step(state, steps);
}
BENCHMARK_CAPTURE(program_of_network, resnet50, "resnet50");
BENCHMARK_CAPTURE(program_of_network, gnmt_8_8, "gnmt_thesis:layers=8");

void reuse_of_a_chain(benchmark::State& state) {
  const Program program = chain_program(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(reuse_intervals(program));
  report_per_step(state, program.steps.size());
}
BENCHMARK(reuse_of_a_chain)->Arg(1000)->Arg(1000000)->Unit(benchmark::kMillisecond);

void split_of_a_chain(benchmark::State& state) {
  const Program program = chain_program(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(split_values(program, 1 << 20));
  report_per_step(state, program.steps.size());
}
BENCHMARK(split_of_a_chain)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
