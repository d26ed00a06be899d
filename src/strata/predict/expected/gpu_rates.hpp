// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/machine/machine.hpp"

#include <array>

namespace strata {

/// What the forms of kernel time need to know of a GPU.
struct GpuRates {
  double units = 0;        ///< SMs
  double clock_hz = 0;     ///< that it reaches
  double bytes_per_s = 0;  ///< that a long copy reaches, not the datasheet's
  double l2_bytes = 0;
  std::array<double, 16> matrix_flop_per_s{};  ///< by DType: of the units that products run on

  /// The same, of which kernels reach the same share on every GPU: more where instructions for
  /// other things cost no arithmetic, less where the power limit lowers the clock.
  std::array<double, 16> kernel_flop_per_s{};

  /// Clocks of all SMs in which a load can be issued beside arithmetic: what bounds products whose
  /// rows do not begin at whole vectors, whatever the matrix units could do.
  double issues_per_s = 0;

  bool operator==(const GpuRates&) const = default;

  double peak(DType dtype) const { return matrix_flop_per_s[static_cast<std::size_t>(dtype)]; }
  double kernel_peak(DType dtype) const {
    return kernel_flop_per_s[static_cast<std::size_t>(dtype)];
  }
};

/// Errors (input) name the number that the machine lacks.
GpuRates gpu_rates(const Machine& machine);

}  // namespace strata
