// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/inline_vector.hpp"
#include "strata/graph/dim.hpp"

#include <string>

namespace strata {

/// Deepest tensor Strata reads; deeper ones are refused with a reason.
inline constexpr std::size_t most_axes = 8;

/// Extents of a tensor, outermost first. Images are N, C, then space; sequences are N, T, features.
using Shape = InlineVector<Dim, most_axes>;

/// One number per spatial axis of a window (1, 2 or 3 of them): kernel sizes, strides, paddings.
using Extents = InlineVector<std::int64_t, 3>;

/// Axis numbers of a tensor, or one number per axis; negative axes count from the end, as in ONNX
/// and PyTorch.
using Axes = InlineVector<std::int64_t, most_axes>;

/// "batch×64×56×56".
std::string text_of(const Shape& shape, const Symbols& symbols);

/// Number of elements as a (possibly symbolic) product.
Dim elements_of(const Shape& shape, Symbols& symbols);

/// Maps −rank … rank−1 to 0 … rank−1; anything else is an input error that names the axis.
std::size_t normal_axis(std::int64_t axis, std::size_t rank);

}  // namespace strata
