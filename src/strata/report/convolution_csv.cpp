// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"
#include "strata/report/convolution_report.hpp"

#include <fmt/format.h>

#include <map>

namespace strata {
namespace {

constexpr std::string_view cells_head =
    "series,point,pass,strategy,status,reason,batch,channels,height,width,filters,kernel_height,"
    "kernel_width,stride_height,stride_width,pad_height,pad_width,dilation_height,dilation_width,"
    "groups,time_s,deviation_s,samples,flop,direct_flop,flop_per_s,direct_flop_per_s,tensor_bytes,"
    "scratch_bytes,peak_bytes,error,tolerance,checked,roles,pinned_share,pageable_share,spread,"
    "others_share";

std::string number_or_nothing(bool is_there, double value) {
  return is_there ? fmt::format("{}", value) : "";
}

std::string times_of(const ConvCell& cell) {
  const bool is_timed = cell.is_timed();
  const double time_s = cell.time_s();
  const auto direct = direct_flop(cell.shape);
  const bool has_rate = is_timed && time_s > 0;
  return fmt::format(
      "{},{},{},{},{},{},{}", number_or_nothing(is_timed, time_s),
      number_or_nothing(is_timed, cell.deviation_s()), cell.samples_s.size(),
      cell.flop ? fmt::format("{}", *cell.flop) : "", direct,
      number_or_nothing(has_rate && cell.flop, static_cast<double>(cell.flop.value_or(0)) / time_s),
      number_or_nothing(has_rate, static_cast<double>(direct) / time_s));
}

std::string roles_of(const ConvCell& cell) {
  std::string text;
  for (const RoleTime& role : cell.roles)
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", name_of(role.role), role.seconds);
  return text;
}

std::string shape_cells(const ConvShape& s) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}", s.batch, s.channels, s.height,
                     s.width, s.filters, s.kernel_height, s.kernel_width, s.stride_height,
                     s.stride_width, s.pad_height, s.pad_width, s.dilation_height, s.dilation_width,
                     s.groups);
}

std::string efficiencies_of(const ConvCell& cell) {
  std::string text;
  for (const ConvEfficiencyName& name : conv_efficiency_names()) {
    const std::optional<double> mean = mean_efficiency(cell, name.value);
    text += "," + number_or_nothing(mean.has_value(), mean.value_or(0));
  }
  return text + "," + csv_cell(cell.efficiencies ? cell.efficiencies->absent : "");
}

std::string line_of(const ConvSeries& series, const ConvPoint& point, const ConvCell& cell) {
  const auto shares = transfer_shares(cell);
  const bool is_checked = cell.checked > 0;
  return fmt::format(
      "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", csv_cell(series.name),
      csv_cell(point.label), name_of(cell.pass), csv_cell(cell.strategy), name_of(cell.status),
      csv_cell(cell.reason), shape_cells(cell.shape), times_of(cell), cell.tensor_bytes,
      cell.scratch_bytes, cell.peak_bytes(), number_or_nothing(is_checked, cell.error),
      number_or_nothing(is_checked, cell.tolerance), cell.checked, roles_of(cell),
      number_or_nothing(shares.has_value(), shares ? shares->pinned : 0),
      number_or_nothing(shares.has_value(), shares ? shares->pageable : 0),
      number_or_nothing(cell.is_timed(), cell.spread()),
      number_or_nothing(cell.others_share.has_value(), cell.others_share.value_or(0)));
}

}  // namespace

std::string to_csv(const ConvResults& results) {
  const ConvIndex index(results);
  std::string text(cells_head);
  const bool has_efficiencies = results.has_efficiencies || has_any_efficiency(results);
  if (has_efficiencies) {
    for (const ConvEfficiencyName& name : conv_efficiency_names())
      text += fmt::format(",{}", name.key);
    text += ",efficiencies_absent";
  }
  text += '\n';
  for (const ConvSeries& series : results.series) {
    for (const ConvPoint& point : series.points) {
      for (const ConvPass pass : results.passes) {
        for (const ConvStrategyName& strategy : results.strategies) {
          const ConvCell* cell = index.find(point.shape, pass, strategy.name);
          if (cell == nullptr) continue;
          text += line_of(series, point, *cell);
          if (has_efficiencies) text += efficiencies_of(*cell);
          text += '\n';
        }
      }
    }
  }
  return text;
}

}  // namespace strata
