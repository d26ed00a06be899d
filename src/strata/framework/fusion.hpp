// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/operations.hpp"

namespace strata {

/// What a compiler makes of the operations that a framework would launch one by one: neighbours
/// become one kernel that reads what comes from outside and writes what others read, nothing else.
///
/// A step is a part of a fused kernel when everything that it launches may be fused; otherwise its
/// launches stay. Each part has a depth: how many kernels must be done before it. Parts of one
/// depth that hand values to one another are one kernel, so that no kernel waits for itself. A
/// result that only later kernels read is computed there, with them. A step that reduces and then
/// goes on (batch norm) is two parts, and the second is one kernel deeper.
///
/// The loss and the update are not compiled.
FrameworkOperations fuse(const Program& program, const Framework& framework,
                         const FrameworkOptions& options, FrameworkOperations written);

}  // namespace strata
