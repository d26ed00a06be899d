// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace strata {

/// How one number of a tensor is stored. tf32 is a way to multiply, stored in 4 bytes like fp32.
enum class DType : std::uint8_t { fp64, fp32, tf32, bf16, fp16, fp8, int8, int32, int64, boolean };

std::int64_t bytes_per_element(DType dtype);
bool is_floating(DType dtype);

std::string_view name_of(DType dtype);
std::optional<DType> dtype_named(std::string_view name);
/// The type that a person means: by its name in any case, or by PyTorch's: "Half", "float16".
std::optional<DType> dtype_meant(std::string_view name);

/// Every data type, in the order in which they are shown to people.
std::span<const DType> all_dtypes();

}  // namespace strata
