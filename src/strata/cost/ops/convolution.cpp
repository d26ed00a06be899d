// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/sheet.hpp"

namespace strata {
namespace {

// N images, C and K input and output channels in g groups:
//   MAC = N·K·(C/g)·∏kernel·∏output
// Transposed, each input position is spread over a kernel instead: N·C·(K/g)·∏kernel·∏input.
// Padding is multiplied too.
Count multiply_adds(const Convolution& op, const CostSheet& sheet) {
  const BoundTensor& x = sheet.input(0);
  const BoundTensor& y = sheet.output();
  Count kernel = 1;
  for (const std::int64_t extent : op.kernel) kernel *= extent;
  if (op.transposed) return Count(x.elements) * (op.channels / op.groups) * kernel;
  return Count(y.elements) * (x[1] / op.groups) * kernel;
}

}  // namespace

//   forward          Y = X ∗ W (+ b)     MAC            + |Y| additions of the bias
//   backward_input   dX = dY ∗ᵀ W        same MAC
//   backward_weight  dW = X ∗ dY         same MAC
//                    db = Σ dY           |Y| additions
void write_cost(const Convolution& op, CostSheet& sheet) {
  const Count mac = multiply_adds(op, sheet);
  const Count bias_flop = op.bias ? sheet.output().elements : 0;
  const std::size_t weight = sheet.first_own();
  const std::size_t bias = weight + 1;

  sheet.forward_of_all().add_mac(mac).add_flop(bias_flop);
  if (auto dx = sheet.gradient_of(0)) dx->reads_output_gradient().reads_input(weight).add_mac(mac);
  if (auto dw = sheet.gradient_of(weight)) dw->reads_output_gradient().reads_input(0).add_mac(mac);
  if (auto db = sheet.gradient_of(bias)) db->reads_output_gradient().add_flop(bias_flop);
}

}  // namespace strata
