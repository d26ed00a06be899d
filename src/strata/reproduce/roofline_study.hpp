// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"
#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/figures.hpp"
#include "strata/roofline/roofline.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// "Time-Based Roofline for Deep Learning Performance Analysis" (2020), predicted: its two kernels
/// with its sweeps, on the V100 whose ceilings it measured, without any GPU. What it measured of
/// frameworks needs counters of a device; such findings are listed as not predicted.
namespace strata {

/// A kernel with one parameter varied, the others at the paper's defaults.
struct KernelSweep {
  std::string_view kernel;     ///< "conv2d", "lstm": networks of the zoo
  std::string_view parameter;  ///< "batch", "filters", …
  std::vector<std::int64_t> values;
};
/// Conv2D over batch, filters, kernel size, stride; LSTM over batch, sequence, features, hidden.
const std::vector<KernelSweep>& kernel_sweeps();

/// One pass of a kernel in one data type.
struct KernelPoint {
  std::int64_t value = 0;  ///< of the swept parameter
  DType dtype = DType::fp32;
  std::string_view pass;  ///< "forward", "backward"
  Work work;              ///< of all its steps; one launch per step of the program
};

struct SweepResult {
  KernelSweep sweep;
  std::vector<KernelPoint> points;  ///< by data type, pass, value

  /// The points of one data type and pass, values rising.
  std::vector<const KernelPoint*> track(DType dtype, std::string_view pass) const;
};

/// Forward as an inference pass, whose output is written; backward as in training, without loss and
/// update: the gradient of the weights, as the kernel's input needs none.
SweepResult predict_sweep(const KernelSweep& sweep, const Machine& machine);

/// All of them on the V100 of the paper. Calls `progress` with a share between 0 and 1.
struct RooflineStudy {
  Machine machine;
  std::vector<SweepResult> sweeps;

  const SweepResult& sweep(std::string_view kernel, std::string_view parameter) const;
};
RooflineStudy predict_roofline_study(const std::function<void(double)>& progress = {});

/// The paper's findings beside ours.
std::vector<Finding> roofline_findings(const RooflineStudy& study);

/// Figure 1 (run time at 256 filters in fp16), and one figure per sweep, which are figures 3 to 10.
std::vector<Figure> roofline_figures(const RooflineStudy& study);

}  // namespace strata
