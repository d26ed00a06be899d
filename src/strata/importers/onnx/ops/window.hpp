// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/op_context.hpp"

namespace strata::onnx {

/// The window of a convolution or pooling, as the attributes say.
struct Window {
  Extents kernel;
  Extents stride;
  Extents dilation;
  Extents pad_begin;
  Extents pad_end;
};

/// Reads kernel_shape (or takes `kernel`), strides and dilations; `axes` is the number of spatial
/// axes.
Window window_of(OpContext& context, std::size_t axes, const Extents& kernel);

/// Fills in the padding: explicit, or what auto_pad makes of the extents of x.
void set_padding(OpContext& context, const Shape& x, Window& window);

/// A list attribute with one entry per spatial axis, or nothing.
std::optional<Extents> extents_attribute(OpContext& context, std::string_view name,
                                         std::size_t axes);

/// Applies an activation that ONNX Runtime fused into a node (attribute "activation").
DraftId with_fused_activation(OpContext& context, DraftId y);

}  // namespace strata::onnx
