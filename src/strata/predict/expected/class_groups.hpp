// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/operations/operation_classes.hpp"

#include <span>
#include <string_view>

/// Classes of kernels that err alike on another GPU: what iterations of whole networks can tell
/// apart.
namespace strata {

std::span<const std::string_view> class_group_names();
/// Its place among class_group_names().
std::size_t class_group_of(OperationClass kernel_class);

/// Classes of the same kind that published tables have: products of linear layers forward,
/// convolutions forward, attention forward. Empty: no table has its kind.
std::span<const OperationClass> tabulated_siblings(OperationClass kernel_class);

}  // namespace strata
