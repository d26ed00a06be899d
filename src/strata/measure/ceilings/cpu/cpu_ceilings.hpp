// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cpu/core_model.hpp"
#include "strata/measure/ceilings/cpu/bench.hpp"
#include "strata/measure/ceilings/cpu/topology.hpp"

#include <functional>
#include <string_view>

/// The measurements that make a CPU's ceilings. Each adds its numbers to the machine, and to the
/// warnings what it could not measure.
namespace strata::cpu {

/// The CPU that is measured, by one thread on each of its cores.
struct CpuUnderTest {
  CoreModel core;
  Topology topology;
  std::vector<int> processors;  ///< of the threads of the team, in their order
};

/// Says what comes next.
using Say = std::function<void(std::string_view what)>;

void measure_arithmetic(const Bench& bench, const CpuUnderTest& tested, const Say& say,
                        Machine& machine);
/// Measures again some time later and keeps the better numbers, because other virtual machines on
/// the host and the temperature change. Does nothing in a quick run.
void measure_arithmetic_again(const Bench& bench, const CpuUnderTest& tested, const Say& say,
                              Machine& machine);
void measure_memory(const Bench& bench, const CpuUnderTest& tested, const Say& say,
                    Machine& machine);
void measure_handoff_latency(const Bench& bench, const CpuUnderTest& tested, const Say& say,
                             Machine& machine);

}  // namespace strata::cpu
