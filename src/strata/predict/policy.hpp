// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/simulate.hpp"

namespace strata {

/// One prediction: plans as the policy says, then lays the plan over time. Errors (input): rates
/// that are not above 0, a capacity that is too small.
Prediction predict(const AccessList& list, const Hardware& hardware,
                   const PredictOptions& options = {}, Record record = Record::steps);

}  // namespace strata
