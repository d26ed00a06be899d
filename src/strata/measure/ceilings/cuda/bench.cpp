// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cuda/bench.cuh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

namespace strata::cuda {
namespace {

constexpr double is_steady = 0.01;  // change from one batch to the next
constexpr int most_launches = 2000;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int launches_for(double batch_s, double launch_s) {
  return static_cast<int>(
      std::clamp(std::ceil(batch_s / std::max(launch_s, 1e-7)), 1.0, double{most_launches}));
}

}  // namespace

Effort Bench::effort() const {
  if (!options_.is_quick) return {};
  return {.samples = 7, .sample_s = 2e-3, .least_warm_up_s = 0.02, .most_warm_up_s = 0.1};
}

double Bench::batch_s(const Enqueue& enqueue, int launches) const {
  const Event start, stop;
  start.record(stream());
  for (int i = 0; i < launches; ++i) enqueue(stream());
  stop.record(stream());
  return stop.seconds_since(start) / launches;
}

Timing Bench::time(const Enqueue& enqueue, const Effort& effort) const {
  const auto start = std::chrono::steady_clock::now();
  double last_s = batch_s(enqueue, 1);
  int launches = launches_for(effort.sample_s, last_s);
  while (seconds_since(start) < effort.most_warm_up_s) {
    const double now_s = batch_s(enqueue, launches);
    const bool stands_still = std::fabs(now_s - last_s) < is_steady * last_s;
    last_s = now_s;
    launches = launches_for(effort.sample_s, last_s);
    if (stands_still && seconds_since(start) >= effort.least_warm_up_s) break;
  }
  Timing timing;
  const auto sample = [&](int count) {
    ClockMonitor monitor(nvml_);
    for (int i = 0; i < count; ++i) timing.samples_s.push_back(batch_s(enqueue, launches));
    const ClocksSeen seen = monitor.stop();
    timing.clocks.states.insert(timing.clocks.states.end(), seen.states.begin(), seen.states.end());
  };
  if (effort.rest_s <= 0) {
    sample(effort.samples);
    return timing;
  }
  for (int i = 0; i < effort.samples; ++i) {  // the clock between samples does not count
    std::this_thread::sleep_for(std::chrono::duration<double>(effort.rest_s));
    batch_s(enqueue, 1);
    sample(1);
  }
  return timing;
}

double Bench::glance(const Enqueue& enqueue) const {
  const double once_s = batch_s(enqueue, 1);
  const int launches = launches_for(2e-3, once_s);
  return std::min(batch_s(enqueue, launches), batch_s(enqueue, launches));
}

Measurement evidence_of(const Timing& timing, std::string method) {
  Measurement evidence = strata::evidence_of(std::move(method), timing.samples_s);
  evidence.clock_hz = timing.clocks.sm_hz();
  evidence.power_w = timing.clocks.power_w();
  if (std::string note = timing.clocks.note(); !note.empty()) evidence.notes.push_back(note);
  return evidence;
}

Sourced rate_of(double amount, const Timing& timing, std::string method) {
  return {amount / timing.median_s(), measured_source, evidence_of(timing, std::move(method))};
}

}  // namespace strata::cuda
