// SPDX-License-Identifier: Apache-2.0
// Reading ONNX files. A file of 2 GB must be read in under 0.2 s and 100 MB of memory, because its
// weights are passed over; time must be linear in the number of nodes ("per_node" stays the same).
#include "../tests/importers/onnx_large_models.hpp"
#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"
#include "strata/importers/onnx/onnx.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace {

using namespace strata;

void chain_from_bytes_to_cost(benchmark::State& state) {
  const std::string text = large_models::chain_of(state.range(0));
  for (auto _ : state) {
    const Graph graph = read_onnx_text(text, "chain.onnx");
    benchmark::DoNotOptimize(costs_of(bind_graph(graph, {})));
  }
  state.SetComplexityN(state.range(0));
  state.counters["per_node"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(chain_from_bytes_to_cost)
    ->RangeMultiplier(10)
    ->Range(100, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);

void two_gigabytes_of_weights(benchmark::State& state) {
  const large_models::SparseModel model;
  large_models::restart_peak_memory();
  for (auto _ : state) benchmark::DoNotOptimize(read_onnx(model.path()));
  state.counters["file_bytes"] = static_cast<double>(std::filesystem::file_size(model.path()));
  state.counters["peak_memory_bytes"] = large_models::peak_memory_bytes();
}
BENCHMARK(two_gigabytes_of_weights)->Unit(benchmark::kMillisecond);

}  // namespace
