// SPDX-License-Identifier: Apache-2.0
#include "strata/report/csv_cell.hpp"
#include "strata/report/prediction_report.hpp"

#include <fmt/format.h>

namespace strata {

std::span<const SpentField> spent_fields() {
  static constexpr SpentField fields[] = {
      {"steps", &Spent::steps, nullptr},
      {"time_s", nullptr, &Spent::time_s},
      {"compute_time_s", nullptr, &Spent::compute_s},
      {"stall_time_s", nullptr, &Spent::stall_s},
      {"flop", &Spent::flop, nullptr},
      {"traffic_in_bytes", &Spent::in_bytes, nullptr},
      {"traffic_out_bytes", &Spent::out_bytes, nullptr},
      {"refetch_bytes", &Spent::refetch_bytes, nullptr},
      {"launches", &Spent::launches, nullptr},
      {"zero_flop_launches", &Spent::zero_flop_launches, nullptr},
      {"zero_flop_time_s", nullptr, &Spent::zero_flop_s},
  };
  return fields;
}

std::string to_csv(const PredictionSummary& summary) {
  std::string text = "layer,pass,op,block,class";
  for (const SpentField& field : spent_fields()) text += fmt::format(",{}", field.key);
  text += ",cause\n";
  for (const ProfileRow& row : summary.profile.rows) {
    text += fmt::format("{},{},{},{},{}", csv_cell(row.layer), row.pass, csv_cell(row.op),
                        csv_cell(row.block), row.layer_class);
    for (const SpentField& field : spent_fields()) {
      text += field.count != nullptr ? fmt::format(",{}", row.spent.*field.count)
                                     : fmt::format(",{}", row.spent.*field.number);
    }
    text += fmt::format(",{}\n", csv_cell(row.cause));
  }
  return text;
}

}  // namespace strata
