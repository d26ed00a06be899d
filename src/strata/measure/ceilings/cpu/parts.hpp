// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cpu/core_model.hpp"
#include "strata/measure/ceilings/cpu/bench.hpp"
#include "strata/measure/ceilings/cpu/topology.hpp"

#include <functional>
#include <string_view>

/// The parts of a CPU's characterisation. Each adds its numbers to the machine, and to its warnings
/// what it could not measure.
namespace strata::cpu {

/// What is measured: one thread on each of the cores, by their processors.
struct Subject {
  CoreModel core;
  Topology topology;
  std::vector<int> processors;  ///< of the threads of the crew, in their order
};

/// Says what comes next.
using Say = std::function<void(std::string_view what)>;

void measure_arithmetic(const Bench& bench, const Subject& subject, const Say& say,
                        Machine& machine);
/// Another round, some time later, of which the better numbers stay: neighbours on the host of a
/// virtual machine, and the heat of the first, come and go. Not when it shall be quick.
void measure_arithmetic_again(const Bench& bench, const Subject& subject, const Say& say,
                              Machine& machine);
void measure_memory(const Bench& bench, const Subject& subject, const Say& say, Machine& machine);
void measure_hand_over(const Bench& bench, const Subject& subject, const Say& say,
                       Machine& machine);

}  // namespace strata::cpu
