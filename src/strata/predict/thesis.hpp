// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/predict.hpp"

/// `--preset thesis`: the choices of "A Performance Analytical Model for DNN Training with Focus on
/// Memory Subsystem" (master thesis, National Taiwan University, 2021). With them a multiply-add
/// also counts as one operation (Hardware::mac_is_one).
namespace strata {

/// No update of the weights, no loss; backward of a layer with weights is one step.
TrainingOptions thesis_training();

/// Its policy with its own prefetch list; capacities below the minimum are refused, with 1 % of
/// slack: its GNMT needs 24.09 MiB and is shown at 24.
PredictOptions thesis_prediction();

}  // namespace strata
