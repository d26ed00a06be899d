// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/op_context.hpp"

namespace strata::onnx {

/// Einstein sums of one or two operands become transposes, a matrix product and reshapes; diagonals
/// and longer products are not counted.
void lower_einsum(OpContext& context);

}  // namespace strata::onnx
