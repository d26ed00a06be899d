// SPDX-License-Identifier: Apache-2.0
#include "strata/report/convolution_cells.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

std::string efficiency_text(const ConvCell& cell, const ConvEfficiencyName& name) {
  const std::optional<double> mean = mean_efficiency(cell, name.value);
  if (!mean) return "–";
  return name.is_share ? fmt::format("{:.0f}", 100 * *mean) : fmt::format("{:.2f}", *mean);
}

Table efficiency_table(bool has_points) {
  std::vector<Column> columns = {{.title = "point", .is_shown = has_points}, {.title = "strategy"}};
  for (const ConvEfficiencyName& name : conv_efficiency_names()) {
    columns.push_back({.title = fmt::format("{}{}", name.title, name.is_share ? "\n%" : ""),
                       .align = Align::right});
  }
  return Table(std::move(columns));
}

}  // namespace

std::string efficiencies_text(const ConvResults& results, const ConvIndex& index,
                              const ConvSeries& series, ConvPass pass, const TextStyle& style) {
  Table table = efficiency_table(series.points.size() > 1);
  std::vector<std::string> reasons;  // each once
  bool has_rows = false;
  for (const ConvPoint& point : series.points) {
    for (const ConvStrategyName& strategy : results.strategies) {
      const ConvCell* cell = index.find(point.shape, pass, strategy.name);
      if (cell == nullptr || !cell->efficiencies) continue;
      const std::string& absent = cell->efficiencies->absent;
      if (!absent.empty()) {
        if (std::find(reasons.begin(), reasons.end(), absent) == reasons.end())
          reasons.push_back(absent);
        continue;
      }
      std::vector<std::string> row = {point.label, strategy.name};
      for (const ConvEfficiencyName& name : conv_efficiency_names())
        row.push_back(efficiency_text(*cell, name));
      table.add_row(std::move(row));
      has_rows = true;
    }
  }
  std::string text;
  if (has_rows)
    text = fmt::format("\nefficiencies, weighted with the time of each role\n{}\n",
                       table.to_text(style));
  for (const std::string& reason : reasons)
    text += fmt::format("  without efficiencies: {}\n", reason);
  return text;
}

}  // namespace strata
