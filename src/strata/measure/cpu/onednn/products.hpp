// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/onednn/computation.hpp"

namespace strata::cpu_training::onednn {

/// Y = scale · A B on the last two axes. Leading axes are broadcast; where those of Y are 1 and
/// those of A or B are not, the products are added up: the gradient of what was broadcast.
void add_product(Computation& to, const Tensor& a, const Tensor& b, const Tensor& y,
                 float scale = 1);

/// The same memory with the last two axes exchanged.
Tensor transposed(const Tensor& matrices);

/// Adds up along the axes of which `sums` has one; a copy where there is none.
void add_sum(Computation& to, const Tensor& from, const Tensor& sums);

}  // namespace strata::cpu_training::onednn
