// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cost/update.hpp"
#include "strata/graph/graph.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Small graphs whose measurement calibrates a device: each has one operator in a few shapes. The
/// ordinary engine runs them (measure_training) and gives a time per layer and pass.
namespace strata {

/// How large shapes are, by what the device is.
struct CaseSizes {
  std::int64_t samples = 1;   ///< times as many as a CPU with a few cores is given
  double cache_bytes = 32e6;  ///< of the last cache: what is read again must have left it
};

struct CalibrationCase {
  std::string name;  ///< "convolution 3x3"
  std::function<Graph()> make;
  Optimizer optimizer = Optimizer::none;
  bool is_product = false;  ///< multiplies, so that TF32 makes a difference
};

/// Layers of a case with such names are measured; the others put memory and caches into the state
/// that they have in a network.
inline constexpr std::string_view measured_layer = "measured";

/// Each class of kernels first, further shapes after: whoever stops early has all classes.
std::vector<CalibrationCase> calibration_cases(const CaseSizes& sizes);

/// Many layers that compute next to nothing: what an iteration of it takes is dispatching.
Graph dispatch_graph();

}  // namespace strata
