// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"
#include "strata/machine/sourced.hpp"
#include "strata/report/measurement_report.hpp"

#include <fmt/format.h>

namespace strata {

std::string to_csv(const MeasurementSummary& summary) {
  std::string text =
      "layer,pass,op,block,class,time_s,spread_s,wall_time_s,samples,flop,read_bytes,write_bytes,"
      "launches,flop_per_s,bytes_per_s,roof_time_s,implementation,not_run";
  const TrainingMeasurement& measured = summary.measured;
  const std::vector<CounterColumn>& columns = measured.profile.counters.columns;
  for (const CounterColumn& column : columns) {
    text += ',' + column.key;
    if (column.unit == "bytes") text += fmt::format(",{}_per_s", column.key);
  }
  text += '\n';
  for (const ProfileRow& row : measured.profile.rows) {
    const Totals& totals = row.totals;
    const std::vector<double>& samples = row.timed_samples_s();
    const auto rate = [&](std::int64_t count) {
      return totals.time_s > 0 ? fmt::format("{}", static_cast<double>(count) / totals.time_s) : "";
    };
    text += fmt::format("{},{},{},{},{}", csv_cell(row.layer), csv_cell(row.pass), csv_cell(row.op),
                        csv_cell(row.block), csv_cell(row.layer_class));
    text += fmt::format(",{},{},{},{}", totals.time_s,
                        samples.empty() ? "" : fmt::format("{}", median_deviation_of(samples)),
                        row.wall_s ? fmt::format("{}", *row.wall_s) : "", samples.size());
    text += fmt::format(",{},{},{},{},{},{}", totals.flop, totals.in_bytes, totals.out_bytes,
                        totals.launches, rate(totals.flop), rate(totals.traffic_bytes()));
    text += fmt::format(",{},{},{}", row.roof_s ? fmt::format("{}", *row.roof_s) : "",
                        csv_cell(row.implementation), csv_cell(row.not_run));
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const bool is_counted = k < row.counters.size() && row.counters[k].has_value();
      const double value = is_counted ? row.counters[k].value() : 0;
      text += is_counted ? fmt::format(",{:.6g}", value) : ",";
      if (columns[k].unit != "bytes") continue;
      const bool has_rate = is_counted && totals.time_s > 0;
      text += has_rate ? fmt::format(",{:.6g}", value / totals.time_s) : ",";
    }
    text += '\n';
  }
  return text;
}

}  // namespace strata
