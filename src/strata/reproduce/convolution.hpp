// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/result.hpp"
#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/convolution_networks.hpp"
#include "strata/reproduce/figures.hpp"

#include <span>
#include <vector>

namespace strata {

/// What "Performance Analysis of GPU-based Convolutional Neural Networks" (2016) saw on a Tesla
/// K40c, beside stored results of `strata conv --suite paper` (or `cpu`) and beside training
/// iterations of its networks. The time of a layer is that of all passes that the results have.
/// What the results do not hold is a finding that says so.
std::vector<Finding> reproduce_convolution(const ConvResults& results,
                                           std::span<const HotLayers> networks = {});

/// Its figures 2 to 7.
std::vector<Figure> convolution_figures(const ConvResults& results,
                                        std::span<const HotLayers> networks = {});

}  // namespace strata
