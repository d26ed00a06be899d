// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/op_context.hpp"

namespace strata::onnx {

/// Which input is what in a product with a stored matrix.
struct LinearInputs {
  std::size_t weight = 1;
  std::size_t bias = ~std::size_t{0};
  bool is_transposed = false;  ///< stored as [outputs, inputs]; ONNX's usual is [inputs, outputs]
};

/// Whether the input is a stored matrix: the product with it is a linear layer.
bool is_matrix_weight(OpContext& context, std::size_t input);

/// x·W + b on the last axis of x. A bias of another form than one number per output is added on its
/// own.
DraftId linear(OpContext& context, DraftId x, const LinearInputs& inputs, const char* suffix = "");

/// NumPy's matmul: operands of one axis are taken for a row or a column.
DraftId matrix_product(OpContext& context, DraftId a, DraftId b, const MatMul& op);

}  // namespace strata::onnx
