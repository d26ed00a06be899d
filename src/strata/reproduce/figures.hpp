// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/chart/chart.hpp"
#include "strata/reproduce/thesis_sweep.hpp"

#include <functional>
#include <string>
#include <vector>

/// The figures of "A Performance Analytical Model for DNN Training with Focus on Memory Subsystem"
/// (master thesis, National Taiwan University, 2021), drawn anew from our predictions.
namespace strata {

struct Figure {
  std::string name;  ///< of its files, without an ending: "figure-5.2-traffic"
  std::string csv;   ///< the table behind it, in base units
  chart::ChartGrid grid;
};

/// Figures 4.1, 4.2 and 5.1 to 5.6, in this order.
std::vector<Figure> analytical_figures(const std::vector<NetworkResults>& results);

}  // namespace strata
