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

/// Figures 4.1, 4.2 (schedules of an example, then what the policies gain for the networks) and 5.1
/// to 5.6, in this order.
std::vector<Figure> analytical_figures(const std::vector<NetworkResults>& results);

/// Figures 4.1 and 4.2: the transfers and the arithmetic of one small example over time, with the
/// naive policy above and the thesis's below.
std::vector<Figure> schedule_figures();
/// What prefetch and offload gain for the thesis's networks, over capacity.
std::vector<Figure> policy_figures(const std::vector<NetworkResults>& results);

/// The reuse frequency that parts type II from type I with the fewest layers on the wrong side; of
/// equals the lowest.
double thesis_divider(const std::vector<LayerPoint>& layers);

}  // namespace strata
