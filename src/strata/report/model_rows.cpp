// SPDX-License-Identifier: Apache-2.0
#include "strata/report/model_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {

std::vector<ModelRow> rows_of(const ModelSummary& summary, const ModelView& view) {
  std::vector<ModelRow> rows;
  switch (view.by) {
    case GroupBy::layer:
      for (const LayerSummary& layer : summary.layers)
        rows.push_back({layer.name, &layer.counts, &layer});
      break;
    case GroupBy::type:
      for (const GroupSummary& group : summary.types)
        rows.push_back({group.name, &group.counts, nullptr});
      break;
    case GroupBy::block:
      for (const GroupSummary& group : summary.blocks)
        rows.push_back({group.name, &group.counts, nullptr});
      break;
  }
  if (view.top > 0) {
    std::stable_sort(rows.begin(), rows.end(), [](const ModelRow& a, const ModelRow& b) {
      return a.counts->flop() > b.counts->flop();
    });
    rows.resize(std::min(rows.size(), view.top));
  }
  return rows;
}

std::span<const CountField> count_fields() {
  using Counts = LayerCounts;
  static constexpr CountField fields[] = {
      {"parameters", [](const Counts& counts) { return counts.parameters; }},
      {"buffers", [](const Counts& counts) { return counts.buffers; }},
      {"forward_mac", [](const Counts& counts) { return counts.forward.mac; }},
      {"forward_flop", [](const Counts& counts) { return counts.forward.flop; }},
      {"backward_flop", [](const Counts& counts) { return counts.backward_flop(); }},
      {"backward_input_flop", [](const Counts& counts) { return counts.backward_input.flop; }},
      {"backward_weight_flop", [](const Counts& counts) { return counts.backward_weight.flop; }},
      {"activation_bytes", [](const Counts& counts) { return counts.activation_bytes; }},
      {"forward_read_bytes", [](const Counts& counts) { return counts.forward.read_bytes; }},
      {"forward_write_bytes", [](const Counts& counts) { return counts.forward.write_bytes; }},
      {"backward_input_read_bytes",
       [](const Counts& counts) { return counts.backward_input.read_bytes; }},
      {"backward_input_write_bytes",
       [](const Counts& counts) { return counts.backward_input.write_bytes; }},
      {"backward_weight_read_bytes",
       [](const Counts& counts) { return counts.backward_weight.read_bytes; }},
      {"backward_weight_write_bytes",
       [](const Counts& counts) { return counts.backward_weight.write_bytes; }},
  };
  return fields;
}

std::string shape_text(std::span<const std::int64_t> shape, std::string_view separator) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, separator));
}

}  // namespace strata
