// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/explain/memory_need.hpp"
#include "strata/machine/machine.hpp"
#include "strata/predict/expected/expected.hpp"
#include "strata/predict/predict.hpp"
#include "strata/profile/profile.hpp"
#include "strata/report/model_summary.hpp"
#include "strata/training/program.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What a prediction says, as plain data that refers to nothing: the one source of the table, the
/// JSON and the CSV of `strata predict`, and of the Python module. Base units.
namespace strata {

/// Lower bounds for this order of steps: no schedule moves less or is faster.
struct PredictionBounds {
  std::int64_t traffic_physical_bytes = 0;  ///< any implementation: parts of tensors, streaming
  std::int64_t traffic_model_bytes = 0;     ///< whole tensors, charged while they are used
  double time_s = 0;
  std::string time_from;  ///< which of the bounds on time is the largest: "compute", "window", …
};

/// What using a value again would save, by how far apart the two uses are.
struct ScopeReuse {
  std::string scope;  ///< recurrent, forward-backward, adjacent, block
  std::int64_t offered_bytes = 0;
  std::int64_t captured_bytes = 0;  ///< stayed on chip from one use to the next
  /// Capacity that half of it, nine tenths of it and all of it need, whatever else is kept.
  std::int64_t capacity_50_bytes = 0;
  std::int64_t capacity_90_bytes = 0;
  std::int64_t capacity_100_bytes = 0;
};

/// Time lost for one value, over all the steps that waited for it.
struct Stall {
  std::string value;
  std::string kind;  ///< feature, weight, gradient, …
  double wait_s = 0;
  std::int64_t steps = 0;
};

/// What a step needs on chip, and which step.
struct CapacityNeed {
  std::int64_t bytes = 0;
  std::string step;
};

/// The answer to "what if": the same iteration predicted again with one thing changed.
struct Alternative {
  std::string change;            ///< "296 MiB on-chip", "bf16"
  double time_ratio = 1;         ///< new time / this time
  double speed_ratio = 1;        ///< new samples per second / this
  bool changes_samples = false;  ///< then the time says little and the speed is what counts
  bool is_expected = false;      ///< of the expected time, not of the limit
  bool is_of_chip = false;       ///< only another chip has it
  std::string reason = {};       ///< why there is no time: the ratios say nothing
};

struct PredictionTotals {
  double time_s = 0;
  double compute_time_s = 0;
  double stall_time_s = 0;
  double drain_time_s = 0;  ///< of the stalls: writing back after the last step
  std::int64_t traffic_in_bytes = 0;
  std::int64_t traffic_out_bytes = 0;
  std::int64_t refetch_bytes = 0;
  double average_bandwidth_bytes_per_s = 0;
  double utilisation = 0;  ///< share of the time in which arithmetic runs at its full rate
  double samples_per_s = 0;
  std::int64_t footprint_bytes = 0;
  std::int64_t peak_on_chip_bytes = 0;
  std::int64_t flop = 0;
  std::int64_t steps = 0;
  std::int64_t samples = 0;

  std::int64_t traffic_bytes() const { return traffic_in_bytes + traffic_out_bytes; }
};

struct PredictionSummary {
  std::string network;  ///< its name
  std::string title;
  std::vector<Dimension> dims;
  std::string dtype;
  std::vector<Warning> warnings;

  std::string machine;
  std::string machine_title;
  std::string machine_kind;  ///< gpu, cpu, …
  Hardware hardware;
  std::optional<double> device_memory_bytes;
  bool is_recorded = false;  ///< how it is trained is what was recorded, not `training`
  TrainingOptions training;
  std::string framework;  ///< where it is not the machine's usual one; empty: it is
  PredictOptions options;
  std::string preset;  ///< empty: none

  PredictionTotals totals;
  std::optional<PredictionBounds> bounds;
  std::string no_bounds_reason;                     ///< why there are none
  std::optional<std::int64_t> least_traffic_bytes;  ///< of policy exact: no plan moves less
  Profile profile;
  std::vector<ProfileGroup> by_class;
  std::vector<ProfileGroup> by_type;  ///< longest first
  std::vector<ProfileGroup> by_pass;
  std::vector<ProfileGroup> by_block;
  std::vector<ScopeReuse> reuse;
  std::vector<Stall> stalls;                 ///< longest first
  CapacityNeed minimum;                      ///< below it weights are cut
  CapacityNeed whole;                        ///< from it on every step holds all its values at once
  std::vector<std::string> sliced_steps;     ///< those that the capacity made cut their weight
  std::vector<std::string> tolerated_steps;  ///< those that need slightly more than the capacity
                                             ///< and run as if they fitted (the thesis's slack)
  std::vector<Alternative> alternatives;
  std::optional<ExpectedTime> expected;
  std::string no_expected_reason;             ///< why there is none
  std::optional<std::int64_t> largest_batch;  ///< that fits, where this one does not; 0: none
  std::vector<MemoryChange> memory_changes;   ///< of what does not fit
  std::vector<std::string> cut_row_steps;     ///< those that stream their rows in parts
  CapacityNeed widest;                        ///< of them: the most that a row of everything takes

  /// What is allocated at most: by the framework, or by a plan without any.
  std::int64_t needed_memory_bytes() const {
    return expected ? expected->memory_bytes : totals.footprint_bytes;
  }
  /// Nothing: the machine does not say what it has.
  std::optional<MemoryNeed> memory() const {
    if (!device_memory_bytes) return std::nullopt;
    return MemoryNeed{needed_memory_bytes(), *device_memory_bytes, largest_batch, memory_changes};
  }
  bool fits_device() const {
    return !device_memory_bytes ||
           static_cast<double>(needed_memory_bytes()) <= *device_memory_bytes;
  }
};

/// Everything that follows from the program and what was predicted for it. Who calls adds what it
/// knows besides: machine, options, bounds, alternatives.
PredictionSummary summarize(const Program& program, const Plan& plan, const Prediction& prediction,
                            const Hardware& hardware);

}  // namespace strata
