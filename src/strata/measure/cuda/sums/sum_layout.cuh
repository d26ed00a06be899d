// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/constants.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace strata::cuda::train {

/// A dense array [batches, rows, channels, inner] of which rows and inner are summed: one result
/// for each channel of each batch. There are several batches only where inner is 1.
struct SumLayout {
  std::int64_t batches = 1, rows = 1, channels = 1, inner = 1;

  STRATA_HOST_AND_DEVICE std::int64_t results() const { return batches * channels; }
  STRATA_HOST_AND_DEVICE std::int64_t terms() const { return rows * inner; }  ///< of one result
};

/// The layout of an array of this shape, summed over the axes for which is_summed is true; none
/// where summed and kept axes change places more often than a layout has room for.
std::optional<SumLayout> sum_layout(std::span<const std::int64_t> shape,
                                    const std::vector<bool>& is_summed);

}  // namespace strata::cuda::train
