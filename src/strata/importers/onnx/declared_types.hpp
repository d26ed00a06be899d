// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/session.hpp"

#include <optional>

/// Types that the file writes down: those of inputs and outputs, and those that exporters leave for
/// values in between. Names in them become dimensions that the user may choose.
namespace strata::onnx {

/// Makes a draft tensor of every input of the graph, and finds the batch: see docs/formats/onnx.md.
/// With `fix_batch` a batch that is a number stays one.
void enter_inputs(Session& session, bool fix_batch);

/// Makes a constant of every initializer.
void enter_initializers(Session& session);

/// The declared type of a value of the main graph; nothing when the file has none, or not in full.
std::optional<TensorType> declared_type(Session& session, FlatValueId value);

/// A name of a dimension in the file as a Dim: a parameter, a sum or product of parameters, or the
/// batch.
Dim named_dim(Session& session, std::string_view name);

}  // namespace strata::onnx
