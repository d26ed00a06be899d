// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/sheet.hpp"

namespace strata {

// With R rows (all axes but the last), I inputs and F features: MAC = R·F·I.
//   forward          Y = X Wᵀ (+ b)   MAC + |Y| additions of the bias
//   backward_input   dX = dY W        same MAC
//   backward_weight  dW = dYᵀ X       same MAC
//                    db = Σ dY        |Y| additions
void write_cost(const Linear& op, CostSheet& sheet) {
  const BoundTensor& x = sheet.input(0);
  const Count mac = Count(sheet.output().elements) * x[x.axes() - 1];
  const Count bias_flop = op.bias ? sheet.output().elements : 0;
  const std::size_t weight = sheet.first_own();
  const std::size_t bias = weight + 1;

  sheet.forward_of_all().add_mac(mac).add_flop(bias_flop);
  if (auto dx = sheet.gradient_of(0)) dx->reads_output_gradient().reads_input(weight).add_mac(mac);
  if (auto dw = sheet.gradient_of(weight)) dw->reads_output_gradient().reads_input(0).add_mac(mac);
  if (auto db = sheet.gradient_of(bias)) db->reads_output_gradient().add_flop(bias_flop);
}

// Y[…, M, N] = A B with inner extent K: MAC = |Y|·K.
//   dA = dY Bᵀ   same MAC
//   dB = Aᵀ dY   same MAC
// The gradient of an operand that was broadcast sums over the leading axes inside the product, so
// it costs no more.
void write_cost(const MatMul& op, CostSheet& sheet) {
  const BoundTensor& a = sheet.input(0);
  const Count mac = Count(sheet.output().elements) * a[a.axes() - (op.transpose_a ? 2 : 1)];

  sheet.forward_of_all().add_mac(mac);
  if (auto da = sheet.gradient_of(0)) da->reads_output_gradient().reads_input(1).add_mac(mac);
  if (auto db = sheet.gradient_of(1)) db->reads_output_gradient().reads_input(0).add_mac(mac);
}

}  // namespace strata
