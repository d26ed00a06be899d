// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/measure_training.hpp"

#include <cstddef>
#include <span>

namespace strata {

/// What is needed to count a network that has been timed.
struct LayerCounting {
  TrainingDevice& device;
  Engine& engine;
  std::span<const std::size_t> row_of;  ///< by part
  const MeasureOptions& options;
  const MeasureHooks& hooks;
};

/// Reads the counters that the options ask for and puts them beside the rows. Where they cannot be
/// read, the profile says why; times stay as they were.
void count_layers(TrainingMeasurement& result, const LayerCounting& counting);

}  // namespace strata
