// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"
#include "strata/machine/machine.hpp"
#include "strata/profile/profile.hpp"
#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/figures.hpp"
#include "strata/roofline/roofline.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// "Time-Based Roofline for Deep Learning Performance Analysis" (2020), predicted: its two kernels
/// with its sweeps, on the V100 whose ceilings it measured, without any GPU; and what was measured
/// of the same sweeps on another device beside it (measured_sweeps.hpp).
namespace strata {

struct CaptureStudy;

/// A kernel with one parameter varied, the others at the paper's defaults.
struct KernelSweep {
  std::string_view kernel;     ///< "conv2d", "lstm": networks of the zoo
  std::string_view parameter;  ///< "batch", "filters", …
  std::vector<std::int64_t> values;
};
/// Conv2D over batch, filters, kernel size, stride; LSTM over batch, sequence, features, hidden.
const std::vector<KernelSweep>& kernel_sweeps();

/// What a device counted: "dram_read_bytes".
struct SweepCounter {
  std::string key;
  double value = 0;
};

/// One pass of a kernel in one data type.
struct KernelPoint {
  std::int64_t value = 0;  ///< of the swept parameter
  DType dtype = DType::fp32;
  std::string_view pass;  ///< "forward", "backward"
  Work work;              ///< of all its steps; of a prediction one launch per step of the program
  std::vector<SweepCounter> counters = {};  ///< of a measurement
  std::string implementation = {};          ///< what computed it, of a measurement

  std::optional<double> counter(std::string_view key) const;
  /// Read from and written to the device's memory.
  std::optional<double> counted_bytes() const;
  std::optional<double> counted_matrix_flop() const;  ///< on the matrix units
  /// On any unit. Half precision outside the matrix units is counted in instructions only.
  std::optional<double> counted_flop() const;
  /// As the device counted it, where it did: what is drawn and judged.
  Work drawn_work() const;
};

struct SweepResult {
  KernelSweep sweep;
  std::vector<KernelPoint> points;  ///< by data type, pass, value

  /// The points of one data type and pass, values rising.
  std::vector<const KernelPoint*> track(DType dtype, std::string_view pass) const;
};

/// Forward as an inference pass, whose output is written; backward as in training, without loss and
/// update: the gradient of the weights, as the kernel's input needs none. Time is the limit that
/// peak and bandwidth set, without launches.
SweepResult predict_sweep(const KernelSweep& sweep, const Machine& machine);

/// All of them on one machine.
struct RooflineStudy {
  Machine machine;
  Evidence evidence = Evidence::predicted;
  std::string title;  ///< "V100 of the paper", "NVIDIA H200"
  std::vector<SweepResult> sweeps;

  const SweepResult& sweep(std::string_view kernel, std::string_view parameter) const;
};
/// The paper has the tensor peak as the roof of every precision; without matrix units, the peak of
/// each type.
Roofs roofs_of_study(const RooflineStudy& study);

/// Of the kernels, or of starting them where that takes longer: the paper's overhead ceiling.
double run_time_s(const KernelPoint& point, const Roofs& roofs);

/// As it is drawn. Kernels that are predicted have their run time with launches; those that were
/// measured have the time that they took.
struct PlacedPoint {
  Work work;
  RooflinePoint point;
};
PlacedPoint placed(const RooflineStudy& study, const Roofs& roofs, const KernelPoint& point);

/// On the V100 of the paper. Calls `progress` with a share between 0 and 1.
RooflineStudy predict_roofline_study(const std::function<void(double)>& progress = {});

/// The paper's findings beside ours, and beside what was measured where there is something. The
/// frameworks are those that ran on the device of the measurement.
std::vector<Finding> roofline_findings(const RooflineStudy& predicted,
                                       const RooflineStudy* measured = nullptr,
                                       const CaptureStudy* frameworks = nullptr);

/// Figure 1 (run time at 256 filters in fp16; of frameworks at the filters at which they were
/// captured), one figure per sweep in the combined plane, and the classic rooflines of figures 6
/// (kernel size) and 8 (stride).
std::vector<Figure> roofline_figures(const RooflineStudy& predicted,
                                     const RooflineStudy* measured = nullptr,
                                     const CaptureStudy* frameworks = nullptr);

/// The network of a sweep at one value.
struct SweepNetwork {
  Graph graph;
  Binding binding;
};
SweepNetwork sweep_network(const KernelSweep& sweep, std::int64_t value);

}  // namespace strata
