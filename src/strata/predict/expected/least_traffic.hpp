// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/operations/operation_classes.hpp"

namespace strata {

/// The bytes that a kernel of a class cannot do without: each number that it reads or writes once.
/// 0: they are not known.
double least_bytes(OperationClass kernel_class, DType precision, const KernelDims& dims);

}  // namespace strata
