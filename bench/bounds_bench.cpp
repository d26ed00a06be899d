// SPDX-License-Identifier: Apache-2.0
// The bounds of a prediction. "networks" is what a user waits for: the traffic bound for all
// capacities in one run (budget for ResNet-50: 15 ms), for one capacity, and the time bound.
// "chain" is the growth with the number of steps: the flow for all capacities is quadratic at
// worst, which is why `--bounds auto` stops at 5,000 steps; windows alone stay near-linear.
#include "strata/graph/bind.hpp"
#include "strata/predict/bounds/time_bound.hpp"
#include "strata/predict/bounds/traffic_bound.hpp"
#include "strata/predict/policy.hpp"
#include "strata/zoo/zoo.hpp"

#include <benchmark/benchmark.h>

#include <string>

namespace {

using namespace strata;

constexpr std::int64_t capacity_bytes = std::int64_t{128} << 20;
constexpr Hardware hardware{.capacity_bytes = capacity_bytes,
                            .bytes_per_s = 616e9,
                            .dense_flop_per_s = 13.45e12,
                            .other_flop_per_s = 13.45e12};

/// Forward and backward of a chain of layers: every layer's output is read by the next one, and
/// again, last first, by its own backward.
Program chain_of(std::int64_t layers) {
  Program program;
  const auto add_value = [&](std::int64_t bytes, bool is_given, bool is_result) {
    program.values.push_back(
        {.is_given = is_given, .is_result = is_result, .bytes = bytes, .row_bytes = bytes / 64});
    return static_cast<ValueId>(program.values.size() - 1);
  };
  const auto add_step = [&](std::initializer_list<Use> uses) {
    program.steps.push_back(
        {.first_use = static_cast<std::uint32_t>(program.uses.size()), .flop = 1'000'000'000});
    program.uses.insert(program.uses.end(), uses);
  };
  const auto size_of = [](std::int64_t layer) {
    return ((layer * 7919) % 31 + 1) << 20;  // anything but regular
  };
  std::vector<ValueId> features{add_value(size_of(0), true, false)};
  std::vector<ValueId> weights;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    weights.push_back(add_value(size_of(layer) / 4, true, false));
    features.push_back(add_value(size_of(layer + 1), false, false));
    add_step({{features[features.size() - 2], true, false},
              {weights.back(), true, false},
              {features.back(), false, true}});
  }
  ValueId gradient = add_value(size_of(layers), true, false);
  for (std::int64_t layer = layers; layer-- > 0;) {
    const auto at = static_cast<std::size_t>(layer);
    const ValueId below = add_value(size_of(layer), false, false);
    const ValueId change = add_value(size_of(layer) / 4, false, true);
    add_step({{gradient, true, false},
              {features[at], true, false},
              {weights[at], true, false},
              {below, false, true},
              {change, false, true}});
    gradient = below;
  }
  return program;
}

void report(benchmark::State& state, const Program& program) {
  state.counters["steps"] = static_cast<double>(program.steps.size());
  state.counters["per_step"] = benchmark::Counter(
      static_cast<double>(program.steps.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.SetComplexityN(static_cast<std::int64_t>(program.steps.size()));
}

void chain_physical_all_capacities(benchmark::State& state) {
  const Program program = chain_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(physical_traffic_bound(program));
  report(state, program);
}
BENCHMARK(chain_physical_all_capacities)
    ->RangeMultiplier(4)
    ->Range(32, 2'048)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void chain_model_all_capacities(benchmark::State& state) {
  const Program program = chain_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(model_traffic_bound(program));
  report(state, program);
}
BENCHMARK(chain_model_all_capacities)
    ->RangeMultiplier(4)
    ->Range(32, 2'048)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void chain_model_one_capacity(benchmark::State& state) {
  const Program program = chain_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(model_traffic_bound_at(program, capacity_bytes));
  report(state, program);
}
BENCHMARK(chain_model_one_capacity)
    ->RangeMultiplier(4)
    ->Range(32, 2'048)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void chain_windows(benchmark::State& state) {
  const Program program = chain_of(state.range(0));
  const AccessList list(program);
  for (auto _ : state) benchmark::DoNotOptimize(window_time_bound_s(list, hardware));
  report(state, program);
}
BENCHMARK(chain_windows)
    ->RangeMultiplier(8)
    ->Range(64, 262'144)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

/// A network of the zoo as one training iteration.
struct Network {
  explicit Network(const char* name)
      : graph(build_network(name)),
        bound(bind_graph(graph, {})),
        program(make_program(bound)),
        list(program) {}
  Graph graph;
  BoundGraph bound;
  Program program;
  AccessList list;
};

void network_all_capacities(benchmark::State& state, const char* name) {
  const Network network(name);
  for (auto _ : state) benchmark::DoNotOptimize(model_traffic_bound(network.program));
  report(state, network.program);
}

void network_one_capacity(benchmark::State& state, const char* name) {
  const Network network(name);
  for (auto _ : state)
    benchmark::DoNotOptimize(model_traffic_bound_at(network.program, capacity_bytes));
  report(state, network.program);
}

void network_time(benchmark::State& state, const char* name) {
  const Network network(name);
  const Prediction schedule = predict(network.list, hardware, {.policy = Policy::thesis});
  const std::int64_t traffic = model_traffic_bound_at(network.program, capacity_bytes);
  for (auto _ : state)
    benchmark::DoNotOptimize(time_bound(network.list, hardware, traffic, &schedule));
  report(state, network.program);
}

#define NETWORK(name)                                                                    \
  BENCHMARK_CAPTURE(network_all_capacities, name, #name)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(network_one_capacity, name, #name)->Unit(benchmark::kMillisecond);   \
  BENCHMARK_CAPTURE(network_time, name, #name)->Unit(benchmark::kMillisecond)
NETWORK(resnet50);
NETWORK(mobilenet_v2);
NETWORK(transformer_big);
#undef NETWORK

}  // namespace
