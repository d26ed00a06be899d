// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/flat_graph.hpp"

namespace strata::onnx {

/// Brings the nodes into an order in which they can run, keeping the file's wherever it is one, and
/// leaves out what no output needs. Errors (input): a value made twice or by nobody, a cycle.
void put_in_order(FlatGraph& flat);

}  // namespace strata::onnx
