// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/ceilings/cuda/bench.cuh"

#include <functional>
#include <string_view>

/// The parts of a GPU's characterisation. Each adds its numbers to the machine, and to its warnings
/// what it could not measure.
namespace strata::cuda {

/// Says what comes next.
using Say = std::function<void(std::string_view what)>;

void measure_memory(const Bench& bench, const Say& say, Machine& machine);
void measure_lanes(const Bench& bench, const Say& say, Machine& machine);
void measure_products(const Bench& bench, const Say& say, Machine& machine);
void measure_launches(const Bench& bench, const Say& say, Machine& machine);
void measure_copies(const Bench& bench, const Say& say, Machine& machine);
void measure_peers(const Bench& bench, const Say& say, Machine& machine);

/// Holds a rate of arithmetic against units × clock and the datasheet, in its evidence.
void compare_with_documents(const DeviceInfo& device, Peak& peak);

}  // namespace strata::cuda
