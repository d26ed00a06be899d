// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/profile.hpp"

#include <optional>
#include <string_view>

namespace strata {

/// Which units compute in which type, where the name of a kernel of sums of products says so:
/// "sm80_xmma_fprop_implicit_gemm_tf32f32_…" multiplies TF32 on matrix units, whatever type the
/// network has. Nothing where the name does not tell. No FLOP.
std::optional<TypedFlop> arithmetic_in_name(std::string_view kernel_name);

}  // namespace strata
