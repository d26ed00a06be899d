// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/index_map.cuh"

#include <cuda_runtime_api.h>

/// Copies whose source and target run along different axes. Read along one of them, memory would be
/// written in pieces, and the other way round: tiles that lie in shared memory in between are read
/// along the one and written along the other.
namespace strata::cuda::train {

/// Whether one side of a copy, which runs along that axis, is made of whole packs of so many
/// numbers at aligned addresses.
bool has_packs(const StridedAxes& axes, std::size_t side, std::size_t along, std::int64_t pack,
               const void* data, std::int64_t element_bytes);

/// As copy_strided; `axes` are merged, and the last one is what the target runs along. False, and
/// nothing done, where the two sides do not run along different axes or tiles would be mostly
/// empty.
bool copy_by_tiles(void* to, const void* from, std::int64_t element_bytes, const StridedAxes& axes,
                   cudaStream_t stream);

}  // namespace strata::cuda::train
