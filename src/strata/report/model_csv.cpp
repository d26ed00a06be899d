// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"
#include "strata/report/model_report.hpp"

#include <fmt/format.h>

namespace strata {
std::string to_csv(const ModelSummary& summary, const ModelView& view) {
  const bool has_layers = view.by == GroupBy::layer;
  std::string text = has_layers ? "name,op,block,output_shape,dtype" : "name,nodes";
  for (const CountField& field : count_fields()) text += fmt::format(",{}", field.key);
  text += has_layers ? ",kept,kept_bytes\n" : "\n";
  for (const ModelRow& row : rows_of(summary, view)) {
    text += csv_cell(row.name);
    if (row.layer != nullptr) {
      const LayerSummary& layer = *row.layer;
      text += fmt::format(",{},{},{},{}", csv_cell(layer.op), csv_cell(layer.block),
                          shape_text(layer.output_shape, "x"), name_of(layer.dtype));
    } else {
      text += fmt::format(",{}", row.counts->nodes);
    }
    for (const CountField& field : count_fields())
      text += fmt::format(",{}", field.value(*row.counts));
    if (row.layer != nullptr)
      text += fmt::format(",{},{}", csv_cell(row.layer->kept), row.layer->kept_bytes);
    text += '\n';
  }
  return text;
}

}  // namespace strata
