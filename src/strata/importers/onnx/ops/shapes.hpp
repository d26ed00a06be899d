// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/op_context.hpp"

/// The shapes that ONNX's reshaping operators lead to, for activations and constants alike.
namespace strata::onnx {

/// Reshape: the target with 0 and −1 resolved, and the batch put where the file has its number.
Shape reshape_target(OpContext& context);
Shape squeezed_shape(OpContext& context);
Shape unsqueezed_shape(OpContext& context);
/// ONNX's Flatten always leads to two axes.
Shape flattened_shape(OpContext& context);

/// A Slice with its positions as far as they are known: one entry per axis that is cut.
Slice slice_of(OpContext& context);

/// The sizes of a Split; empty: equal parts.
std::vector<std::int64_t> split_sizes(OpContext& context, std::size_t axis);

/// Adds entries to the permutation until it covers all axes; reversed when the file gives none.
Axes permutation_of(OpContext& context);

}  // namespace strata::onnx
