// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"
#include "strata/measure/engine/device.hpp"
#include "strata/reproduce/roofline_study.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The sweeps of the time-based roofline, measured on a device: kept as one file of points, which
/// stands beside the prediction wherever there is no such device.
namespace strata {

/// One pass of a kernel in one data type, at one value of one sweep.
struct MeasuredPoint {
  std::string kernel;
  std::string parameter;
  std::int64_t value = 0;
  DType dtype = DType::fp32;
  std::string pass;     ///< "forward", "backward"
  std::string not_run;  ///< why; empty: it ran, and what follows is there

  std::vector<double> kernel_samples_s = {};  ///< of its kernels; empty: the device traces none
  std::vector<double> wall_samples_s = {};    ///< from outside, with what passes between kernels
  std::int64_t launches = 0;
  std::int64_t zero_flop_launches = 0;
  double zero_flop_s = 0;
  std::int64_t flop = 0;   ///< by the definition of the kernel
  std::int64_t bytes = 0;  ///< each tensor that it reads or writes, once
  std::string implementation;
  std::vector<SweepCounter> counters = {};  ///< as the device counted
  std::string no_counters;                  ///< why there are none
};

struct MeasuredSweeps {
  std::string device;
  std::size_t warm_up = 0;
  std::size_t iterations = 0;
  std::vector<MeasuredPoint> points;
  std::vector<std::string> versions;
  std::string host;
  std::string date;
  std::optional<double> least_clock_hz;  ///< seen while it was timed
  std::optional<double> most_clock_hz;
  std::vector<std::string> notes;  ///< what held the device back
};

struct SweepProtocol {
  std::size_t warm_up = 5;  ///< both as the paper has them
  std::size_t iterations = 20;
  std::vector<KernelSweep> sweeps = kernel_sweeps();
  bool counts = false;           ///< reads the device's counters, too
  std::string no_counters = {};  ///< why not, where it does not
};

struct SweepHooks {
  /// A device for one data type. Its errors (unsupported, environment) become the reason of points.
  std::function<std::unique_ptr<TrainingDevice>(DType)> open;
  /// After every point: what is measured so far, and the share of it.
  std::function<void(const MeasuredSweeps&, double share)> on_point = {};
  std::function<bool()> is_interrupted = {};
};

/// A shape that several sweeps share is measured once. What cannot run is a point with a reason.
/// Errors when no device opens at all.
MeasuredSweeps measure_sweeps(const SweepProtocol& protocol, const SweepHooks& hooks);

std::string to_json(const MeasuredSweeps& sweeps, std::string_view command);
/// Errors (input) name the field, what was expected and what came.
MeasuredSweeps read_measured_sweeps(std::string_view text);
MeasuredSweeps load_measured_sweeps(const std::string& path);

/// Whether a document is one of those, be it whole or not.
bool looks_like_measured_sweeps(std::string_view text);

/// As a study: the points that ran, under the roofs of the machine they ran on.
RooflineStudy study_of(const MeasuredSweeps& sweeps, Machine machine);

}  // namespace strata
