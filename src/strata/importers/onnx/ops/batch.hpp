// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/op_context.hpp"

/// Files are often exported for one batch size, and shapes inside carry that number. Where the
/// batch has been opened (made a parameter), these functions find the places that must follow it;
/// where that cannot be told, they throw BatchConflict and the file is read with its own batch.
namespace strata::onnx {

/// Puts the batch into the target of a Reshape of x, given as numbers. `open` is the axis that is
/// −1.
void open_batch(OpContext& context, const Shape& x, Shape& target, std::optional<std::size_t> open);

/// The same for the target of an Expand.
void open_expanded_batch(OpContext& context, const Shape& x, Shape& target);

/// Throws BatchConflict when the batch was opened.
void refuse_open_batch(OpContext& context, const char* reason);

}  // namespace strata::onnx
