// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/session.hpp"

/// What an exporter has left out, by the traces that it leaves in the file.
namespace strata::onnx {

/// Puts back the biases that the exporter has removed because they were zero, where torch.export's
/// signature in the file names them.
void restore_left_out_biases(Session& session);

/// Says how many biases onnxscript has removed, in a file without a signature.
void warn_of_left_out_biases(Session& session);

/// Whether the module before the last layer is missing: the layer is 'classifier.1', and nothing in
/// the file belongs to 'classifier.0'. Dropout leaves such a gap.
bool lacks_module_before_head(const Session& session);

}  // namespace strata::onnx
