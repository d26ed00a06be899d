// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/strategy.hpp"

namespace strata {

std::string_view name_of(KernelRole role) {
  switch (role) {
    case KernelRole::direct: return "direct";
    case KernelRole::gemm: return "gemm";
    case KernelRole::im2col: return "im2col";
    case KernelRole::col2im: return "col2im";
    case KernelRole::transform: return "transform";
    case KernelRole::inverse_transform: return "inverse_transform";
    case KernelRole::pointwise: return "pointwise";
    case KernelRole::transpose: return "transpose";
    case KernelRole::copy: return "copy";
    case KernelRole::other: return "other";
  }
  return "";
}

}  // namespace strata
