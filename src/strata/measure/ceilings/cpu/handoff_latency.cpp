// SPDX-License-Identifier: Apache-2.0
// A CPU launches no kernels. The overhead of a parallel loop is the latency of handing it to the
// threads and waiting for the last of them.
#include "strata/measure/ceilings/cpu/cpu_ceilings.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace strata::cpu {

void measure_handoff_latency(const Bench& bench, const CpuUnderTest&, const Say& say,
                             Machine& machine) {
  if (bench.threads() < 2) {
    machine.measured->warnings.push_back(
        "launch_latency_s is left out: with one thread nothing is handed over");
    return;
  }
  say("handing over to threads");
  ThreadTeam& team = bench.team();
  const bool is_quick = bench.options().is_quick;
  const int samples = is_quick ? 7 : 20;
  constexpr int in_a_row = 200;
  std::vector<double> awake_s, asleep_s;
  for (int i = 0; i < samples; ++i) {
    std::vector<double> each(in_a_row);
    for (double& seconds : each) seconds = team.handoff_s();
    awake_s.push_back(median_of(each));  // one that lost its processor would spoil a mean
  }
  for (int i = 0; i < samples; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(4));  // longer than threads stay awake
    asleep_s.push_back(team.handoff_s());
  }
  const auto number = [](const std::vector<double>& seconds, std::string method) {
    Measurement evidence = evidence_of(std::move(method), seconds);
    return Sourced{median_of(seconds), measured_source, std::move(evidence)};
  };
  const std::string what = fmt::format(
      "a task that does nothing handed to {} threads until all have done it, as a parallel loop "
      "costs it (a CPU launches no kernels)",
      bench.threads());
  Sourced awake = number(awake_s, fmt::format("{}; threads that wait awake; each sample the median "
                                              "of {} in a row; the median",
                                              what, in_a_row));
  machine.launch_variants.push_back({fmt::format("{} threads, awake", bench.threads()), awake});
  machine.launch_variants.push_back({fmt::format("{} threads, asleep", bench.threads()),
                                     number(asleep_s, what + "; threads that sleep; the median")});
  machine.launch_latency_s = std::move(awake);
}

}  // namespace strata::cpu
