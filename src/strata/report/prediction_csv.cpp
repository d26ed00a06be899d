// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"
#include "strata/report/prediction_report.hpp"

#include <fmt/format.h>

namespace strata {

std::span<const SpentField> spent_fields() {
  static constexpr SpentField fields[] = {
      {"steps", &Totals::steps, nullptr},
      {"time_s", nullptr, &Totals::time_s},
      {"compute_time_s", nullptr, &Totals::compute_s},
      {"stall_time_s", nullptr, &Totals::stall_s},
      {"flop", &Totals::flop, nullptr},
      {"traffic_in_bytes", &Totals::in_bytes, nullptr},
      {"traffic_out_bytes", &Totals::out_bytes, nullptr},
      {"refetch_bytes", &Totals::refetch_bytes, nullptr},
      {"launches", &Totals::launches, nullptr},
      {"zero_flop_launches", &Totals::zero_flop_launches, nullptr},
      {"zero_flop_time_s", nullptr, &Totals::zero_flop_s},
  };
  return fields;
}

std::string to_csv(const PredictionSummary& summary) {
  std::string text = "layer,pass,op,block,class";
  for (const SpentField& field : spent_fields()) text += fmt::format(",{}", field.key);
  text += ",peak_on_chip_bytes,cause\n";
  for (const ProfileRow& row : summary.profile.rows) {
    text += fmt::format("{},{},{},{},{}", csv_cell(row.layer), csv_cell(row.pass), csv_cell(row.op),
                        csv_cell(row.block), csv_cell(row.layer_class));
    for (const SpentField& field : spent_fields()) {
      text += field.count != nullptr ? fmt::format(",{}", row.totals.*field.count)
                                     : fmt::format(",{}", row.totals.*field.number);
    }
    text += fmt::format(",{},{}\n", row.peak_on_chip_bytes.value_or(0), csv_cell(row.cause));
  }
  return text;
}

}  // namespace strata
