// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/calibration.hpp"
#include "strata/predict/expected/gpu_rates.hpp"

namespace strata {

/// What a calibration says of the machine that it was measured on, as the forms of kernel time need
/// it, and back. Data types that it does not name are computed in fp32.
GpuRates gpu_rates(const CalibratedRates& rates);
CalibratedRates calibrated_rates(const GpuRates& rates);

}  // namespace strata
