// SPDX-License-Identifier: Apache-2.0
#include "strata/report/csv_cell.hpp"
#include "strata/report/prediction_report.hpp"

#include <fmt/format.h>

namespace strata {

std::span<const SpentField> spent_fields() {
  static constexpr SpentField fields[] = {
      {"steps", [](const Spent& spent) { return static_cast<double>(spent.steps); }, true},
      {"time_s", [](const Spent& spent) { return spent.time_s; }, false},
      {"compute_time_s", [](const Spent& spent) { return spent.compute_s; }, false},
      {"stall_time_s", [](const Spent& spent) { return spent.stall_s; }, false},
      {"flop", [](const Spent& spent) { return static_cast<double>(spent.flop); }, true},
      {"traffic_in_bytes", [](const Spent& spent) { return static_cast<double>(spent.in_bytes); },
       true},
      {"traffic_out_bytes", [](const Spent& spent) { return static_cast<double>(spent.out_bytes); },
       true},
      {"refetch_bytes", [](const Spent& spent) { return static_cast<double>(spent.refetch_bytes); },
       true},
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
      const double value = field.value(row.spent);
      text += field.is_whole ? fmt::format(",{}", static_cast<std::int64_t>(value))
                             : fmt::format(",{}", value);
    }
    text += fmt::format(",{}\n", csv_cell(row.cause));
  }
  return text;
}

}  // namespace strata
