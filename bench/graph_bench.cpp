// SPDX-License-Identifier: Apache-2.0
// From nothing to the cost of every pass: build, infer shapes, verify, bind, count. The budget is 3
// µs per node on one core, linear in nodes; "per_node" is what to read, and its growth from the
// smallest to the largest chain.
#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/builder.hpp"
#include "strata/zoo/zoo.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace {

using namespace strata;

Graph chain_of(std::int64_t nodes) {
  GraphBuilder builder("chain");
  builder.reserve(static_cast<std::size_t>(nodes), static_cast<std::size_t>(3 * nodes));
  TensorId x = builder.input("x", {builder.symbols().parameter("batch", 32), 64, 56, 56});
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

void report_per_node(benchmark::State& state, std::size_t nodes) {
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["per_node"] =
      benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsIterationInvariantRate |
                                                         benchmark::Counter::kInvert);
}

void chain_from_nothing_to_cost(benchmark::State& state) {
  for (auto _ : state) {
    const Graph graph = chain_of(state.range(0));
    benchmark::DoNotOptimize(costs_of(bind_graph(graph, {})));
  }
  report_per_node(state, static_cast<std::size_t>(state.range(0)));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(chain_from_nothing_to_cost)
    ->RangeMultiplier(10)
    ->Range(100, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);

void network_from_nothing_to_cost(benchmark::State& state, const char* name) {
  std::size_t nodes = 0;
  for (auto _ : state) {
    const Graph graph = build_network(name);
    benchmark::DoNotOptimize(costs_of(bind_graph(graph, {})));
    nodes = graph.nodes.size();
  }
  report_per_node(state, nodes);
}
BENCHMARK_CAPTURE(network_from_nothing_to_cost, resnet50, "resnet50")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(network_from_nothing_to_cost, densenet121, "densenet121")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(network_from_nothing_to_cost, bert_base, "bert_base")
    ->Unit(benchmark::kMicrosecond);

/// What a sweep over batch sizes pays per point: the graph exists, only numbers change.
void rebind_resnet50(benchmark::State& state) {
  const Graph graph = build_network("resnet50");
  std::int64_t batch = 1;
  for (auto _ : state) {
    benchmark::DoNotOptimize(costs_of(bind_graph(graph, {{"batch", batch}})));
    batch = batch % 256 + 1;
  }
  report_per_node(state, graph.nodes.size());
}
BENCHMARK(rebind_resnet50)->Unit(benchmark::kMicrosecond);

}  // namespace
