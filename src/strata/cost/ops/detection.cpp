// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/sheet.hpp"

namespace strata {

// σ on 3 + classes of the 5 + classes numbers of a box, 3 FLOP each; w and h pass.
//   dx = dy·y·(1 − y) on the same, 3 FLOP each; dy for w and h
void write_cost(const Yolo& op, CostSheet& sheet) {
  const Count squashed =
      Count(sheet.input(0).elements / (op.classes + 5)) * (Count(op.classes) + 3);
  sheet.forward_of_all().add_flop(squashed * 3);
  if (auto dx = sheet.gradient_of(0)) {
    dx->reads_output_gradient().reads_output().add_flop(squashed * 3);
  }
}

}  // namespace strata
