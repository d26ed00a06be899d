// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/strata.hpp"

/// What a single prediction and a sweep do in the same way.
namespace strata {

/// The type in which most of the network's numbers are stored: what rates are looked up for.
DType main_dtype(const BoundGraph& bound);

/// The hardware that a request asks for on a machine.
Hardware hardware_for(const Machine& machine, DType dtype, const PredictRequest& request);

}  // namespace strata
