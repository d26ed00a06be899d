// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/model_summary.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// A kernel of a measured iteration, and when it ran.
struct MeasuredKernel {
  std::string layer;
  std::string pass;
  double begin_s = 0;
  double time_s = 0;
  std::string name = {};
};

/// What a document of `strata measure --json` says of the kernels of one iteration, and of what.
struct MeasuredKernels {
  std::vector<MeasuredKernel> kernels;  ///< empty: they were not traced
  std::string network;
  std::string dtype;
  std::string optimizer;
  std::vector<Dimension> dims;
  bool is_inference = false;

  double end_s() const;
};

/// Errors (input) name the kernel whose times are none.
MeasuredKernels measured_kernels_in(std::string_view document);

}  // namespace strata
