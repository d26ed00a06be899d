// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/calibration.hpp"
#include "strata/predict/expected/gpu_rates.hpp"

#include <functional>
#include <vector>

namespace strata {

/// The positive numbers at which a function is least, by Nelder and Mead's simplex in logarithms
/// ("A simplex method for function minimization", 1965). Repeatable: nothing in it is random.
std::vector<double> least_of(const std::function<double(const std::vector<double>&)>& function,
                             std::vector<double> first, int most_moves);

/// Fits every class to its samples, by the mean of |log error|, and says how far each sample is
/// from what the others predict of it. Errors (input) name a class or a data type that is not
/// known.
void fit(Calibration& calibration, const GpuRates& measured_on);

}  // namespace strata
