// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/shape.hpp"

#include <vector>

/// The source of a direct convolution with its padding made real, so that every kernel position is
/// one constant offset from a result pixel and the inner loop asks for no borders.
namespace strata::cpu {

/// Result positions first, first + step, … of one axis that see the same kernel positions: all of
/// them, or in the gradient of the input at stride s those with the same remainder by s.
struct AxisPhase {
  struct KernelPosition {
    std::int64_t kernel = 0;
    std::int64_t offset = 0;  ///< in the padded source, of the first result
  };
  std::int64_t first = 0, step = 1, count = 0;
  std::int64_t source_step = 1;  ///< from one of these results to the next
  std::vector<KernelPosition> seen;
};

struct PaddedAxis {
  std::int64_t size = 1;    ///< of the source
  std::int64_t zeros = 0;   ///< before it
  std::int64_t padded = 1;  ///< with zeros; where a stride leaves out the end, without it
  std::vector<AxisPhase> phases;
};

struct PaddedPlane {
  PaddedAxis rows, columns;

  std::int64_t floats() const { return rows.padded * columns.padded; }
  /// Nothing is to be copied.
  bool is_source() const {
    return rows.padded == rows.size && columns.padded == columns.size && rows.zeros == 0 &&
           columns.zeros == 0;
  }
};

/// The source is the input, for the gradient of the weights, too; for the gradient of the input it
/// is the gradient of the output.
PaddedPlane padded_plane(const ConvShape& shape, ConvPass pass);

void copy_padded(const PaddedPlane& plane, const float* source, float* to);

}  // namespace strata::cpu
