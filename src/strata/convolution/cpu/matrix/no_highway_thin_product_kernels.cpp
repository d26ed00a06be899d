// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/matrix/thin_product_parts.hpp"

#ifndef __aarch64__

namespace strata::cpu {

const ThinKernels* thin_kernels() { return nullptr; }

}  // namespace strata::cpu

#endif
