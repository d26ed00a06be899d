// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/operators.hpp"
#include "strata/measure/cpu/setting.hpp"

/// Planes of floats that become twice as wide and twice as high: most of the resizing that networks
/// do.
namespace strata::cpu_training {

struct ResizeByTwo {
  ResizeKind kind = ResizeKind::nearest;
  std::int64_t planes = 0, height = 0, width = 0;  // of what is resized
};

/// The kind is one of those, and rows fit.
bool can_resize_by_two(const ResizeByTwo& resize);
void resize_by_two(const ResizeByTwo& resize, const Workers& workers, const float* x, float* y);
void resize_by_two_backward(const ResizeByTwo& resize, const Workers& workers, const float* dy,
                            float* dx);

}  // namespace strata::cpu_training
