// SPDX-License-Identifier: Apache-2.0
// Expected times in sweeps over batch and machine, on one core, in CPU time. "ratio" is what the
// expected time of a point costs over what its limit costs, in the same run: a sweep with both
// against one with the limit alone. It is under policy thesis, the cheapest limit; goal: at most 3.
// "points_per_s" is of expected times without the limit (--no-limit); goal: 5,000 for ResNet-50,
// which takes about five machines. Every batch is another program: "program_us" is what making that
// takes, which the machines share, and "machine_us" what each machine adds.
#include "strata/api/sweep.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <string>

namespace {

using namespace strata;

constexpr const char* machines[] = {"h200", "h200,a100-80gb,h100-sxm,l40s",
                                    "h200,a100-80gb,h100-sxm,l40s,a100-40gb,v100,rtx-3090,l4"};

double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

SweepRequest request_on(const std::string& model, const std::string& on) {
  SweepRequest request;
  request.models = {model};
  request.parameters = {{"on", on}, {"batch", "8:256:8"}, {"policy", "thesis"}};
  return request;
}

/// Seconds of CPU time per point.
double time_of(const SweepRequest& request) {
  const Sweep sweep(request);
  const std::unique_ptr<PointWorker> worker = sweep.worker();
  worker->at(sweep.grid().size() - 1);  // what is made once per sweep
  const double start_s = cpu_s();
  for (std::int64_t point = 0; point < sweep.grid().size(); ++point)
    benchmark::DoNotOptimize(worker->at(point));
  return (cpu_s() - start_s) / static_cast<double>(sweep.grid().size());
}

// range(0): 1, 4 or 8 machines, as the list of above has them.
void expected_sweep(benchmark::State& state, const std::string& model) {
  SweepRequest both = request_on(model, machines[state.range(0)]);
  SweepRequest limit = both;
  limit.parameters.push_back({"framework", "none"});
  SweepRequest alone = both;
  alone.wants_limit = false;
  SweepRequest on_one = request_on(model, machines[0]);
  on_one.wants_limit = false;
  double both_s = 1, limit_s = 1, alone_s = 1, one_s = 1;  // the best: neighbours only slow it down
  for (auto _ : state) {
    both_s = std::min(both_s, time_of(both));
    limit_s = std::min(limit_s, time_of(limit));
    alone_s = std::min(alone_s, time_of(alone));
    one_s = std::min(one_s, time_of(on_one));
  }
  const auto count = static_cast<double>(
      1 + std::count(machines[state.range(0)],
                     machines[state.range(0)] + std::string(machines[state.range(0)]).size(), ','));
  state.counters["ratio"] = (both_s - limit_s) / limit_s;
  state.counters["points_per_s"] = 1 / alone_s;
  if (count > 1) {
    const double machine_s = (count * alone_s - one_s) / (count - 1);
    state.counters["machine_us"] = machine_s * 1e6;
    state.counters["program_us"] = (one_s - machine_s) * 1e6;
  }
}

BENCHMARK_CAPTURE(expected_sweep, resnet50, "resnet50")
    ->DenseRange(0, 2)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);
BENCHMARK_CAPTURE(expected_sweep, bert_base, "bert_base")
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

}  // namespace
