// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/engine.hpp"
#include "strata/profile/profile.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Times a network that is trained on a device, layer by layer: warm-up, then iterations of which
/// every sample is kept.
namespace strata {

struct MeasureOptions {
  Engine::Options engine = {};
  /// Nodes of the network itself; what with_loss added comes after them and is called "loss".
  std::size_t network_nodes = 0;
  std::size_t iterations = 10;
  std::size_t warm_up = 2;  ///< at least 1: the first iteration of anything is not like the others
  /// Whole iterations are timed in a run of their own, as marks between parts cost something on a
  /// device that works behind the program's back.
  bool times_whole_apart = false;
  bool wants_recording = false;  ///< time the iteration as one recorded piece, too (a CUDA graph)
  /// Counters of the device, by the name of a preset (gpu/metrics.hpp); "time": none. They are read
  /// in runs of their own, after everything was timed.
  std::string metrics = "time";
  std::vector<std::string> sessions = {};  ///< of the preset, only these; empty: all
  bool counts_kernels = false;             ///< and once more with each kernel apart
  /// Counters for which kernels are patched are read, too; they then take up to 100 times as long.
  bool patches_kernels = true;
};

struct MeasureHooks {
  /// What is going on, and how much of it is done.
  std::function<void(std::string_view phase, std::size_t done, std::size_t total)> on_progress = {};
  std::function<bool()> is_interrupted = {};
  /// Told before counters are read: what that takes, at least so many seconds.
  std::function<void(const CounterCost& cost, double least_s)> on_counting = {};
};

/// Something that ran in one iteration, for a timeline.
struct TimelineSpan {
  std::string name;
  std::size_t row = 0;  ///< of the profile
  double begin_s = 0;
  double seconds = 0;
  LaunchShape launch = {};                  ///< of a kernel
  std::optional<Occupancy> occupancy = {};  ///< that its launch allows; nothing: not known
};

struct TrainingMeasurement {
  /// Rows as a prediction with separate backward has them, every sample with them. Times are
  /// medians: of the kernels where the device traces them, with the time between marks as wall
  /// time, and between marks otherwise.
  Profile profile;
  std::vector<double> iteration_s;    ///< whole iterations
  std::vector<double> recorded_s;     ///< the same as one recorded piece
  std::string no_recording;           ///< why there are none although asked for
  std::vector<TimelineSpan> parts;    ///< of the last timed iteration
  std::vector<TimelineSpan> kernels;  ///< of one traced iteration
  std::optional<double> loss_before;  ///< of the first iteration
  std::optional<double> loss_after;   ///< of the last
  std::int64_t iterations_run = 0;    ///< all, with those that were not timed
  std::int64_t samples = 0;           ///< that one iteration trains
  double set_up_s = 0;                ///< until the first iteration: kernels chosen, memory filled
  std::string device;
  std::vector<std::string> versions;
  ConditionsSeen conditions;       ///< while layers were timed
  std::vector<std::string> notes;  ///< what speaks against the times: "times vary by 12 %"
  bool is_interrupted = false;     ///< fewer samples than asked for, perhaps none

  bool has_times() const { return !profile.rows.empty() && !iteration_s.empty(); }
};

/// Whether it does no arithmetic: the device copies or fills, or the kernel is one of those that
/// the rules of kernel names (data/kernels) know to do none.
bool only_moves_data(const KernelRun& run);

TrainingMeasurement measure_training(const BoundGraph& bound, TrainingDevice& device,
                                     const MeasureOptions& options, const MeasureHooks& hooks = {});

}  // namespace strata
