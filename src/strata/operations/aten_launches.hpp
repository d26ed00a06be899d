// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/recording.hpp"
#include "strata/operations/operation_classes.hpp"

#include <vector>

namespace strata {

/// A kernel of a class, or a few that belong together, with the dimensions its time depends on.
struct RecordedLaunch {
  OperationClass kernel_class = {};
  DType precision = DType::fp32;
  KernelDims dims{};
  double share = 1;    ///< of the time that the class takes
  double kernels = 0;  ///< how many are launched; 0: as many as the class launches
};

/// What an operation launches; products of fp32 in TF32 where the GPU may. One that the table does
/// not know streams its bytes.
std::vector<RecordedLaunch> launches_of(const RecordedOperations& recording,
                                        const RecordedOperation& operation, bool is_tf32);

}  // namespace strata
