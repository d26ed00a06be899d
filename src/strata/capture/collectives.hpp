// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/kernel_class.hpp"

#include <cstdint>
#include <string_view>

/// Kernels by which GPUs exchange data: communication, not arithmetic.
namespace strata {

bool is_collective(const KernelClass& kernel_class);

/// "all_reduce" of "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…"; "collective" where the name does
/// not tell.
std::string_view collective_in_name(std::string_view kernel_name);

/// Bytes of one element of a type as PyTorch writes it: "Float", "c10::Half", "long int"; 0: not
/// known.
std::int64_t bytes_of_torch_type(std::string_view name);

}  // namespace strata
