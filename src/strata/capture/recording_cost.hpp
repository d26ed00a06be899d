// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// What the recorder cost the program that it recorded: a figure per launch, measured elsewhere,
/// times what this recording holds.
namespace strata {

struct Recording;
struct FoundSteps;

/// A time that is known to lie between two others.
struct TimeInterval {
  double least_s = 0;
  double likely_s = 0;
  double most_s = 0;
};

struct RecordingCost {
  std::int64_t launches = 0;  ///< of kernels, copies, memsets and graphs
  std::int64_t calls = 0;     ///< that are recorded
  TimeInterval per_launch;    ///< of the thread that launches
  TimeInterval in_all;
  std::string source;  ///< where the figure was measured
  // Of the step of median length; nothing where no steps were found.
  std::optional<double> step_s = {};  ///< from its first kernel to its last, as recorded
  std::optional<TimeInterval> step_without = {};  ///< the same, recording taken out
};

/// Nothing where nobody measured what that recorder costs (Nsight, nvprof). Cost is taken out of a
/// step only where the device waited: what the host loses while the device is busy costs nothing.
std::optional<RecordingCost> recording_cost(const Recording& recording, const FoundSteps& steps);

}  // namespace strata
