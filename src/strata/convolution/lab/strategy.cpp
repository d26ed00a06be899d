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

std::optional<KernelRole> kernel_role_named(std::string_view name) {
  constexpr auto count = static_cast<std::size_t>(KernelRole::other) + 1;
  for (std::size_t i = 0; i < count; ++i)
    if (name_of(static_cast<KernelRole>(i)) == name) return static_cast<KernelRole>(i);
  return std::nullopt;
}

}  // namespace strata
