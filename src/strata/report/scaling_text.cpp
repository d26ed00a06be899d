// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/parallel_json.hpp"
#include "strata/report/scaling_report.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata {
namespace {

double samples_rate(const ParallelSummary& summary) {
  return static_cast<double>(summary.context.samples) / summary.result.time_s;
}

std::string scaling_header(const ParallelScaling& scaling) {
  const ParallelContext& context = scaling.context;
  std::string text = fmt::format("{}, one training iteration", printable(context.title));
  for (const Dimension& dimension : context.dims) {
    const bool is_batch = dimension.name == "batch";
    text += is_batch && scaling.has_batch_per_device
                ? fmt::format(", batch {} on each device", dimension.value / context.devices)
                : fmt::format(", {} {}{}", printable(dimension.name), dimension.value,
                              is_batch ? " in all" : "");
  }
  return fmt::format("{}, {}, optimizer {}, {}, {} from {}, on {}, {} to a node\n\n", text,
                     context.precision(), name_of(context.optimizer), context.framework,
                     name_of(context.calibration), context.calibrated_on,
                     printable(context.machine_title), context.devices_per_node);
}

/// Price, length and power are of every row the same.
bool has_price(const ParallelScaling& scaling) {
  return scaling.context.terms.price_per_hour.has_value();
}

bool has_length(const ParallelScaling& scaling) {
  return scaling.context.terms.tokens || scaling.context.terms.samples;
}

void add_answer(Table& table, const ParallelScaling& scaling, const ScalingRow& row) {
  const ParallelSummary& best = *row.best;
  const ParallelContext& context = best.context;
  const auto run = training_run(context.terms, best.pace());
  const auto mfu = context.mfu(best.result.time_s);
  const auto million = cost_per_million(context.terms, best.pace());
  const double items = context.tokens ? static_cast<double>(*context.tokens) / best.result.time_s
                                      : samples_rate(best);
  std::string cost;
  if (run && run->cost)
    cost = money_text(*run->cost, context.terms.currency);
  else if (million)
    cost = money_text(*million, context.terms.currency);
  table.add_row(
      {fmt::format("{}", row.devices), format_time(best.result.time_s),
       fmt::format("{} to {}", format_time(best.result.low_s), format_time(best.result.high_s)),
       format_count(items), fmt::format("{:.0f} %", 100 * *scaling.efficiency(row)),
       mfu ? fmt::format("{:.1f} %", 100 * *mfu) : "",
       format_capacity(static_cast<double>(best.result.most_memory().total_bytes())),
       run ? duration_text(run->time_s) : "", cost, to_text(best.result.strategy)});
}

nlohmann::ordered_json row_json(const ParallelScaling& scaling, const ScalingRow& row) {
  using ScalingJson = nlohmann::ordered_json;
  ScalingJson json = {{"devices", row.devices},
                      {"strategies", row.strategies},
                      {"strategies_that_fit", row.fitting},
                      {"reason", row.best ? ScalingJson() : ScalingJson(row.reason)}};
  if (!row.best) return json;
  const ParallelSummary& best = *row.best;
  const ParallelContext& context = best.context;
  const RankTime mean = best.result.iteration.mean();
  json["nodes"] = context.nodes;
  json["devices_per_node"] = context.devices_per_node;
  json["samples"] = context.samples;
  json["strategy"] = to_text(best.result.strategy);
  json.update(speed_json(best));
  json["scaling_efficiency"] = number_or_null(scaling.efficiency(row));
  json["mfu"] = number_or_null(context.mfu(best.result.time_s));
  json["memory_bytes"] = best.result.most_memory().total_bytes();
  ScalingJson& parts = json["time"] = ScalingJson::object();
  for (std::size_t i = 0; i < rank_time_parts.size(); ++i)
    parts[std::string(rank_time_names[i])] = mean.*rank_time_parts[i];
  json["training"] = training_json(context.terms, best.pace());
  return json;
}

}  // namespace

bool ParallelScaling::has_answer() const {
  return std::any_of(rows.begin(), rows.end(),
                     [](const ScalingRow& row) { return row.best.has_value(); });
}

std::optional<double> ParallelScaling::efficiency(const ScalingRow& row) const {
  const auto first = std::find_if(rows.begin(), rows.end(),
                                  [](const ScalingRow& one) { return one.best.has_value(); });
  if (!row.best || first == rows.end()) return std::nullopt;
  return samples_rate(*row.best) / static_cast<double>(row.devices) /
         (samples_rate(*first->best) / static_cast<double>(first->devices));
}

std::string to_text(const ParallelScaling& scaling, const TextStyle& style) {
  const bool counts_tokens = scaling.context.tokens.has_value();
  std::string text = scaling_header(scaling);
  Table table({{.title = "devices", .align = Align::right},
               {.title = "expected", .align = Align::right},
               {.title = "90 % interval", .align = Align::right, .leaves = 3},
               {.title = counts_tokens ? "tokens/s" : "samples/s", .align = Align::right},
               {.title = "efficiency", .align = Align::right},
               {.title = "MFU", .align = Align::right, .leaves = 2},
               {.title = "memory", .align = Align::right, .leaves = 1},
               {.title = "run", .align = Align::right, .is_shown = has_length(scaling)},
               {.title = has_length(scaling) ? "cost of the run"
                         : counts_tokens     ? "cost per\nmillion tokens"
                                             : "cost per\nmillion samples",
                .align = Align::right,
                .is_shown = has_price(scaling)},
               {.title = "strategy", .least_width = 20}});
  for (const ScalingRow& row : scaling.rows) {
    if (row.best)
      add_answer(table, scaling, row);
    else
      table.add_row(
          {fmt::format("{}", row.devices), "", "", "", "", "", "", "", "", printable(row.reason)});
  }
  text += table.to_text(style);
  text += "\nefficiency: samples per second and device, of those of the first row\n";
  if (const auto& power_w = scaling.context.terms.power_w; power_w && has_length(scaling)) {
    const ScalingRow* last = nullptr;
    for (const ScalingRow& row : scaling.rows) last = row.best ? &row : last;
    if (last != nullptr)
      text += fmt::format(
          "energy of the run on {}: {} at {:g} W, the board's power limit, of the devices alone\n",
          last->devices,
          energy_text(*training_run(last->best->context.terms, last->best->pace())->energy_kwh),
          *power_w);
  }
  for (const std::string& assumption : scaling.context.assumptions)
    text += fmt::format("assumed: {}\n", printable(assumption));
  return text;
}

std::string to_json(const ParallelScaling& scaling, const Provenance& provenance) {
  const ParallelContext& context = scaling.context;
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "parallel_scaling");
  text.add("network", context.network);
  text.add("title", context.title);
  text.add("machine_title", context.machine_title);
  text.add("devices_per_node", context.devices_per_node);
  text.add("batch_per_device", scaling.has_batch_per_device);
  add_training_setup(text, context);
  text.add("device_memory_bytes", number_or_null(context.device_memory_bytes));
  text.add("assumptions", context.assumptions);
  text.add_list("rows", scaling.rows,
                [&](const ScalingRow& row) { return row_json(scaling, row); });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace strata
