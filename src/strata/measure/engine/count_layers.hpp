// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/measure_training.hpp"
#include "strata/measure/engine/measured_rows.hpp"

namespace strata {

/// What is needed to count a network that has been timed.
struct LayerCounting {
  TrainingDevice& device;
  Engine& engine;
  const RowsOfParts& rows;
  const MeasureOptions& options;
  const MeasureHooks& hooks;
};

/// Reads the counters that the options ask for and puts them beside the rows. Where they cannot be
/// read, the profile says why; times stay as they were.
void count_layers(TrainingMeasurement& result, const LayerCounting& counting);

}  // namespace strata
