// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/trace_tables.hpp"
#include "strata/report/chart/chart.hpp"

#include <string>
#include <vector>

namespace strata {

/// A recorded program in a figure.
struct RecordedCalls {
  std::string label;
  TraceTables tables;
};

/// Shares of the calls of the CUDA API, a ring for each program: the longest seven by name, the
/// rest as one. Errors (input) name the program of which no calls are recorded.
chart::ChartGrid api_donut_figure(const std::vector<RecordedCalls>& programs);

}  // namespace strata
