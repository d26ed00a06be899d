// SPDX-License-Identifier: Apache-2.0
#include "strata/report/reuse_roofline.hpp"

#include "strata/base/csv_cell.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/table.hpp"
#include "strata/training/step_names.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace strata {
namespace {

using ReuseJson = nlohmann::ordered_json;

constexpr int reuse_roofline_schema_version = 1;
constexpr std::array<std::string_view, 3> reuse_classes = {"dense", "pointwise", "other"};

std::string frequency_text(double frequency) {
  return fmt::format("{:.{}f}", frequency, frequency < 10 ? 2 : 1);
}

/// "forward: dense 43 of 54   pointwise 0 of 66": layers are counted in each pass, as one that is
/// above its ridge in one pass may be below it in another.
std::string classes_text(const ReuseRoofline& roofline, std::string_view pass) {
  std::vector<std::string> parts;
  for (const std::string_view name : reuse_classes) {
    std::size_t all = 0;
    std::size_t above = 0;
    for (const ReuseRooflineRow& row : roofline.rows) {
      if (row.layer_class != name || row.pass != pass) continue;
      ++all;
      above += row.is_compute_bound() ? 1 : 0;
    }
    if (all > 0) parts.push_back(fmt::format("{} {} of {}", name, above, all));
  }
  return fmt::format("{}: {}", pass, fmt::join(parts, "   "));
}

/// A line for each pass, in the order in which they run.
std::string passes_text(const ReuseRoofline& roofline) {
  std::vector<std::string_view> passes;
  for (const ReuseRooflineRow& row : roofline.rows) {
    if (std::find(passes.begin(), passes.end(), row.pass) == passes.end())
      passes.push_back(row.pass);
  }
  std::string text;
  for (const std::string_view pass : passes)
    text += fmt::format("    {}\n", classes_text(roofline, pass));
  return text;
}

ReuseJson reuse_row_json(const ReuseRooflineRow& row) {
  ReuseJson values = ReuseJson::array();
  for (const ReuseRooflineValue& value : row.values)
    values.push_back({{"value", value.name},
                      {"bytes", value.bytes},
                      {"reuse_frequency_flop_per_byte", value.frequency}});
  return {{"layer", row.layer},
          {"pass", row.pass},
          {"op", row.op},
          {"class", row.layer_class},
          {"flop", row.flop},
          {"bytes", row.bytes},
          {"reuse_frequency_flop_per_byte", row.frequency},
          {"peak_flop_per_s", row.peak_flop_per_s},
          {"attainable_flop_per_s", row.attainable_flop_per_s},
          {"bound", row.is_compute_bound() ? "compute" : "memory"},
          {"values", std::move(values)}};
}

void add_roofs(chart::Chart& chart, const Hardware& hardware) {
  std::vector<double> peaks = {hardware.dense_flop_per_s};
  if (hardware.other_flop_per_s != hardware.dense_flop_per_s)
    peaks.push_back(hardware.other_flop_per_s);
  const double highest = *std::max_element(peaks.begin(), peaks.end());
  chart.lines.push_back({.direction = chart::Direction::diagonal,
                         .at = hardware.bytes_per_s,
                         .to = highest / hardware.bytes_per_s,
                         .label = format_bytes_per_s(hardware.bytes_per_s),
                         .stroke = chart::Stroke::solid});
  for (const double peak : peaks)
    chart.lines.push_back({.direction = chart::Direction::horizontal,
                           .at = peak,
                           .from = peak / hardware.bytes_per_s,
                           .label = format_flop_per_s(peak, 4),
                           .stroke = chart::Stroke::solid});
}

}  // namespace

ReuseRoofline reuse_roofline(const Program& program, const Hardware& hardware) {
  ReuseRoofline roofline;
  roofline.hardware = hardware;
  const CountMac count = hardware.mac_is_one ? CountMac::as_one : CountMac::as_two;
  for (const StepReuse& reuse : reuse_frequencies(program, count)) {
    const Step& step = program.steps[reuse.step];
    const double peak = step.layer_class == LayerClass::dense ? hardware.dense_flop_per_s
                                                              : hardware.other_flop_per_s;
    ReuseRooflineRow row{
        .layer = layer_of(program, reuse.step),
        .pass = std::string(pass_of(program, reuse.step)),
        .op = std::string(operator_of(program, reuse.step)),
        .layer_class = std::string(name_of(step.layer_class)),
        .flop = reuse.operations,
        .bytes = reuse.bytes,
        .frequency = reuse.frequency(),
        .peak_flop_per_s = peak,
        .attainable_flop_per_s = reuse.attainable_per_s(peak, hardware.bytes_per_s)};
    for (const ValueReuse& value : reuse.values)
      row.values.push_back({value_name(program, value.value), value.bytes, value.frequency});
    roofline.rows.push_back(std::move(row));
  }
  return roofline;
}

std::string to_text(const ReuseRoofline& roofline, std::size_t top, const TextStyle& style) {
  std::vector<const ReuseRooflineRow*> rows;
  for (const ReuseRooflineRow& row : roofline.rows) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return a->time_s() > b->time_s(); });
  const std::size_t shown = std::min(top, rows.size());
  Table table({{.title = "layer", .least_width = 16, .omit = Omit::beginning},
               {.title = "class"},
               {.title = "FLOP", .align = Align::right},
               {.title = "touched", .align = Align::right},
               {.title = "reuse FLOP/byte", .align = Align::right},
               {.title = "bound"},
               {.title = "attainable", .align = Align::right},
               {.title = "time at least", .align = Align::right}});
  for (std::size_t i = 0; i < shown; ++i) {
    const ReuseRooflineRow& row = *rows[i];
    table.add_row({fmt::format("{} {}", printable(row.layer), row.pass), row.layer_class,
                   format_flop(static_cast<double>(row.flop)),
                   format_bytes(static_cast<double>(row.bytes)), frequency_text(row.frequency),
                   row.is_compute_bound() ? "compute" : "memory",
                   format_flop_per_s(row.attainable_flop_per_s), format_time(row.time_s())});
  }
  std::string text =
      bold(fmt::format("{}, {}, reuse frequency under the roofs of {}", printable(roofline.title),
                       roofline.dtype, printable(roofline.machine_title)),
           style);
  text += fmt::format("\n\n  ridge point {:.2f} FLOP/byte{}\n  at or above their ridge:\n{}\n{}",
                      roofline.ridge_flop_per_byte(),
                      roofline.hardware.mac_is_one ? "   a multiply-add counts as 1 operation" : "",
                      passes_text(roofline), table.to_text(style));
  if (shown < rows.size()) text += fmt::format("  {} more\n", rows.size() - shown);
  text += '\n';
  text += dim(
      "reuse frequency: FLOP / bytes of all tensors that the layer touches; attainable: min(reuse "
      "frequency × bandwidth, peak) (strata help roofline)\n"
      "more: --top N  --plot FILE  --json FILE  --csv FILE\n",
      style);
  return style.has_unicode ? text : to_ascii(text);
}

std::string to_csv(const ReuseRoofline& roofline) {
  std::string text =
      "layer,pass,op,class,flop,bytes,reuse_frequency_flop_per_byte,peak_flop_per_s,"
      "attainable_flop_per_s,bound\n";
  for (const ReuseRooflineRow& row : roofline.rows)
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", csv_cell(row.layer), row.pass,
                        csv_cell(row.op), row.layer_class, row.flop, row.bytes, row.frequency,
                        row.peak_flop_per_s, row.attainable_flop_per_s,
                        row.is_compute_bound() ? "compute" : "memory");
  return text;
}

std::string to_json(const ReuseRoofline& roofline, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", reuse_roofline_schema_version);
  text.add("kind", "reuse_roofline");
  text.add("network", roofline.network);
  text.add("dtype", roofline.dtype);
  text.add("machine", roofline.machine);
  text.add("bandwidth_bytes_per_s", roofline.hardware.bytes_per_s);
  text.add("dense_flop_per_s", roofline.hardware.dense_flop_per_s);
  text.add("other_flop_per_s", roofline.hardware.other_flop_per_s);
  text.add("multiply_add_is_one_operation", roofline.hardware.mac_is_one);
  text.add("ridge_flop_per_byte", roofline.ridge_flop_per_byte());
  text.add_list("rows", roofline.rows, reuse_row_json);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

chart::Chart to_chart(const ReuseRoofline& roofline) {
  chart::Chart chart{
      .title = fmt::format("{}: attainable rate over reuse frequency", roofline.title),
      .subtitle = roofline.machine_title,
      .x = {.title = "reuse frequency (FLOP per byte touched)",
            .scale = chart::ScaleKind::logarithmic},
      .y = {.title = "attainable rate",
            .quantity = chart::Quantity::flop_per_s,
            .scale = chart::ScaleKind::logarithmic}};
  add_roofs(chart, roofline.hardware);
  constexpr std::array markers = {chart::Marker::circle, chart::Marker::triangle,
                                  chart::Marker::diamond};
  for (std::size_t i = 0; i < reuse_classes.size(); ++i) {
    chart::Series series{.name = std::string(reuse_classes[i]),
                         .color = i,
                         .stroke = chart::Stroke::none,
                         .marker = markers[i],
                         .is_filled = false};
    std::map<double, std::size_t> counts;
    for (const ReuseRooflineRow& row : roofline.rows) {
      if (row.layer_class == reuse_classes[i]) ++counts[row.frequency];
    }
    for (const ReuseRooflineRow& row : roofline.rows) {
      if (row.layer_class != reuse_classes[i] || !(row.frequency > 0)) continue;
      std::size_t& count = counts[row.frequency];
      series.points.push_back({row.frequency, row.attainable_flop_per_s,
                               count > 1 ? fmt::format("×{}", count) : std::string(),
                               fmt::format("{} {}", row.layer, row.pass)});
      count = 0;  // the first mark of a stack has it
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace strata
