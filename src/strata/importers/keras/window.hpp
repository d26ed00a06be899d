// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/keras/layer_call.hpp"

/// What "same", "valid" and "causal" mean for a window that slides over the spatial axes.
namespace strata::keras {

struct Window {
  Extents kernel;
  Extents stride;
  Extents dilation;  ///< empty: 1
};

struct Padding {
  Extents begin;
  Extents end;
};

bool is_same_padding(const Config& config);

/// Extent that a dilated kernel covers.
std::int64_t covered_by(std::int64_t kernel, std::int64_t dilation);

/// The padding of a window over x, which is stored N, C, space.
Padding padding_of(LayerCall& call, Value x, const Window& window);

}  // namespace strata::keras
