// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace strata::cuda::train {

/// to[image][column][row] = from[image][row][column], of elements of 2 bytes: channels before
/// pixels become channels after them (rows: channels), and back (rows: pixels).
struct PlaneTurn {
  std::int64_t images = 1, rows = 1, columns = 1;
  bool changes_nothing() const { return rows == 1 || columns == 1; }
};
void turn_planes(const PlaneTurn& turn, void* to, const void* from, cudaStream_t stream);

}  // namespace strata::cuda::train
