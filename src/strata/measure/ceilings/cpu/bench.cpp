// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/bench.hpp"

#include "strata/measure/ceilings/cpu/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace strata::cpu {
namespace {

constexpr std::int64_t clock_rounds = 2000;  // some 40 µs
/// On a busy machine sampling may take that many times as long as on a quiet one.
constexpr double most_patience = 16;
constexpr double quick_patience = 8;
constexpr std::size_t few_samples = 3;

double seconds_from(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Effort Bench::effort() const {
  if (!options_.is_quick) return {};
  return {.samples = 7, .sample_s = 2e-3, .warm_up_s = 0.005};
}

std::vector<double> Bench::clocks_hz(int active) const {
  std::vector<double> seconds(static_cast<std::size_t>(active));
  const ThreadTeam::Span span = team_->run(
      [&](int worker) {
        const auto start = std::chrono::steady_clock::now();
        const std::uint64_t sum = add_in_a_chain(clock_rounds, 3);
        seconds[static_cast<std::size_t>(worker)] =
            sum == 3 * clock_rounds * adds_per_round ? seconds_from(start) : 0;
      },
      active);
  std::vector<double> clocks;
  if (span.is_disturbed) return clocks;
  for (const double each : seconds) {
    if (each > 0) clocks.push_back(static_cast<double>(clock_rounds * adds_per_round) / each);
  }
  return clocks;
}

ThreadTeam::Span Bench::quiet_run(const Work& work, int active, std::int64_t passes) const {
  constexpr int most_tries = 6;
  ThreadTeam::Span best;
  for (int i = 0; i < most_tries; ++i) {
    const ThreadTeam::Span span = team_->run([&](int worker) { work(worker, passes); }, active);
    if (i == 0 || span.seconds < best.seconds) best = span;
    if (!span.is_disturbed) break;
  }
  return best;
}

std::int64_t Bench::passes_for(const Work& work, int active, double sample_s) const {
  for (std::int64_t passes = 1;; passes *= 4) {
    const double seconds = quiet_run(work, active, passes).seconds;
    if (seconds < sample_s / 8 && passes < (std::int64_t{1} << 40)) continue;
    return std::max<std::int64_t>(
        1, std::llround(static_cast<double>(passes) * sample_s / std::max(seconds, 1e-9)));
  }
}

Timing Bench::time(const Work& work, int active, const Effort& effort) const {
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t passes = passes_for(work, active, effort.sample_s);
  const auto sample = [&] { return team_->run([&](int worker) { work(worker, passes); }, active); };
  while (seconds_from(start) < effort.warm_up_s) sample();
  Timing timing;
  std::vector<double> all_s;
  const auto sampling = std::chrono::steady_clock::now();
  const double patience = options_.is_quick ? quick_patience : most_patience;
  const double most_s = patience * effort.samples * effort.sample_s;
  while (static_cast<int>(timing.samples_s.size()) < effort.samples) {
    if (seconds_from(sampling) > most_s && all_s.size() >= few_samples) break;
    const ThreadTeam::Span span = sample();
    all_s.push_back(span.seconds / static_cast<double>(passes));
    if (!span.is_disturbed) timing.samples_s.push_back(all_s.back());
    const std::vector<double> clocks = clocks_hz(active);
    timing.clocks_hz.insert(timing.clocks_hz.end(), clocks.begin(), clocks.end());
  }
  timing.disturbed = static_cast<int>(all_s.size() - timing.samples_s.size());
  if (timing.samples_s.size() < few_samples) {
    std::sort(all_s.begin(), all_s.end());
    all_s.resize(few_samples);
    timing.samples_s = std::move(all_s);
    timing.is_disturbed = true;
  }
  return timing;
}

double Bench::glance(const Work& work, int active) const {
  const std::int64_t passes = passes_for(work, active, 1e-3);
  const double first_s = quiet_run(work, active, passes).seconds;
  const double second_s = quiet_run(work, active, passes).seconds;
  return std::min(first_s, second_s) / static_cast<double>(passes);
}

Sourced rate_of(double amount, const Timing& timing, std::string method) {
  Measurement evidence = evidence_of(std::move(method), timing.samples_s);
  if (!timing.clocks_hz.empty()) evidence.clock_hz = median_of(timing.clocks_hz);
  if (timing.is_disturbed) {
    evidence.notes.push_back(
        fmt::format("others had a processor during nearly all samples: the fastest {}",
                    timing.samples_s.size()));
  } else if (timing.disturbed > 0) {
    evidence.notes.push_back(fmt::format(
        "{} more samples left out, during which others had a processor", timing.disturbed));
  }
  return {amount / timing.median_s(), measured_source, std::move(evidence)};
}

}  // namespace strata::cpu
