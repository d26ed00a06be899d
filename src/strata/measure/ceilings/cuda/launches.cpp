// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cuda/ceilings.cuh"
#include "strata/measure/ceilings/cuda/kernels.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>

namespace strata::cuda {
namespace {

constexpr int queue = 1000;           // launches in a sample: a long queue hides its ends
constexpr int queue_on_device = 500;  // below the driver's queue of about a thousand
constexpr int graph_nodes = 1000;

using Clock = std::chrono::steady_clock;

struct Variant {
  int grid = 1;
  int block = 32;
  int bytes_of_arguments = 0;
  int streams = 1;

  std::string name() const {
    return fmt::format("grid {}, block {}, {} bytes of arguments, {} stream{}", grid, block,
                       bytes_of_arguments, streams, streams == 1 ? "" : "s");
  }
};

std::vector<Variant> variants_of(const Bench& bench) {
  const int sms = bench.device().sm_count;
  if (bench.options().is_quick)
    return {{1, 32, 0, 1}, {sms, 1024, 64, 1}, {16 * sms, 256, 4000, 1}, {1, 32, 0, 4}};
  std::vector<Variant> variants;
  for (const int grid : {1, sms, 16 * sms}) {
    for (const int block : {32, 256, 1024}) {
      for (const int bytes : argument_bytes) {
        for (const int streams : {1, 4}) variants.push_back({grid, block, bytes, streams});
      }
    }
  }
  return variants;
}

/// Seconds per launch, back to back, until all have run: what a program pays that launches as fast
/// as it can.
double back_to_back_s(const Variant& variant, const std::deque<Stream>& streams) {
  const auto start = Clock::now();
  for (int i = 0; i < queue; ++i) {
    const Stream& stream = streams[static_cast<std::size_t>(i % variant.streams)];
    launch_empty(variant.grid, variant.block, variant.bytes_of_arguments, stream.get());
  }
  for (int i = 0; i < variant.streams; ++i) streams[static_cast<std::size_t>(i)].synchronize();
  return std::chrono::duration<double>(Clock::now() - start).count() / queue;
}

/// Seconds per launch when all of them wait in the queue already: what the device itself takes.
/// Nothing when the host was too slow to fill the queue in time.
std::optional<double> queued_s(const Bench& bench, const Variant& variant) {
  const Event begin, end;
  constexpr std::int64_t clocks = 40'000'000;  // 20 ms: the host needs a few for the launches
  spin(clocks, bench.stream());
  begin.record(bench.stream());
  for (int i = 0; i < queue_on_device; ++i)
    launch_empty(variant.grid, variant.block, variant.bytes_of_arguments, bench.stream());
  end.record(bench.stream());
  const bool is_in_time = cudaEventQuery(begin.get()) == cudaErrorNotReady;
  cudaGetLastError();  // "not ready" is an answer, not a failure
  const double seconds = end.seconds_since(begin);
  if (!is_in_time) return std::nullopt;
  return seconds / queue_on_device;
}

LaunchVariant timed(const Variant& variant, const std::deque<Stream>& streams, int samples) {
  back_to_back_s(variant, streams);  // the first launch of a kernel loads it
  std::vector<double> samples_s;
  for (int i = 0; i < samples; ++i) samples_s.push_back(back_to_back_s(variant, streams));
  return {
      variant.name(),
      {median_of(samples_s), measured_source,
       strata::evidence_of(fmt::format("{} empty kernels back to back, until all have run", queue),
                           samples_s)}};
}

void add_queued(const Bench& bench, const Variant& variant, int samples, Machine& machine) {
  std::vector<double> samples_s;
  for (int i = 0; i < samples; ++i) {
    if (const auto seconds = queued_s(bench, variant)) samples_s.push_back(*seconds);
  }
  if (samples_s.empty()) {
    machine.measured->warnings.push_back(
        "launches queued on the device: the host does not fill the queue in time");
    return;
  }
  machine.launch_variants.push_back(
      {"queued behind work, " + variant.name(),
       {median_of(samples_s), measured_source,
        strata::evidence_of(fmt::format("{} empty kernels that wait behind a long one: the "
                                        "device's part alone",
                                        queue_on_device),
                            samples_s)}});
}

Sourced graph_node_latency(const Bench& bench) {
  const GraphExec graph(bench.stream(), [&] {
    for (int i = 0; i < graph_nodes; ++i) launch_empty(1, 32, 0, bench.stream());
  });
  Timing timing = bench.time([&](cudaStream_t stream) { graph.launch(stream); });
  for (double& seconds : timing.samples_s) seconds /= graph_nodes;
  return {timing.median_s(), measured_source,
          evidence_of(timing, fmt::format("a graph of {} empty kernels in a chain, per node; the "
                                          "median",
                                          graph_nodes))};
}

/// The middle of all variants, with the medians of the variants as its samples.
Sourced latency_over(const std::vector<LaunchVariant>& variants) {
  std::vector<double> medians_s;
  for (const LaunchVariant& variant : variants) medians_s.push_back(variant.latency_s.value);
  Measurement evidence = strata::evidence_of(
      fmt::format("empty kernels back to back, {} each: the median over {} variants of grid, "
                  "block, arguments and streams; its samples are theirs",
                  queue, variants.size()),
      medians_s);
  const auto [least, most] = std::minmax_element(medians_s.begin(), medians_s.end());
  evidence.notes.push_back(
      fmt::format("from {:.2f} to {:.2f} us over the variants", *least * 1e6, *most * 1e6));
  return {median_of(medians_s), measured_source, std::move(evidence)};
}

}  // namespace

void measure_launches(const Bench& bench, const Say& say, Machine& machine) {
  const int samples = bench.options().is_quick ? 3 : 5;
  std::deque<Stream> streams(4);
  const std::vector<Variant> variants = variants_of(bench);
  say("launch latency");
  for (const Variant& variant : variants)
    machine.launch_variants.push_back(timed(variant, streams, samples));
  machine.launch_latency_s = latency_over(machine.launch_variants);
  say("launches queued on the device");
  add_queued(bench, {1, 32, 0, 1}, samples, machine);
  add_queued(bench, {bench.device().sm_count, 1024, 0, 1}, samples, machine);
  say("latency of a graph's node");
  machine.graph_node_latency_s = graph_node_latency(bench);
}

}  // namespace strata::cuda
