// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"

#include <cstddef>
#include <span>
#include <vector>

/// Tensors of any type on their way to a device and back.
namespace strata {

/// As they lie in memory, each the nearest that the type has. Errors (unsupported) for fp8, which
/// has no one format.
std::vector<std::byte> tensor_bytes(std::span<const double> numbers, DType dtype);
std::vector<double> tensor_numbers(std::span<const std::byte> bytes, DType dtype);

}  // namespace strata
