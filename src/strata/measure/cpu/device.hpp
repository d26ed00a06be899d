// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/device.hpp"

namespace strata::cpu_training {

/// The CPU with plain loops for everything: what tests hold oneDNN's results against.
std::unique_ptr<TrainingDevice> plain_cpu_device();

}  // namespace strata::cpu_training
