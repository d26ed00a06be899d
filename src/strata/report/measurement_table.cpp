// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/counts_text.hpp"
#include "strata/report/measurement_report.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

std::string loss_text(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.4g}", *loss) : "";
}

std::string rows_not_run(const MeasurementSummary& summary) {
  if (summary.totals.rows_not_run == 0) return "all";
  return fmt::format("{} of {} not", summary.totals.rows_not_run,
                     summary.measured.profile.rows.size());
}

std::int64_t memory_of(const MeasurementSummary& summary) {
  return summary.measured.profile.peak_memory_bytes.value_or(0);
}

std::string batch_text(const MeasurementSummary& summary) {
  for (const Dimension& dimension : summary.dims) {
    if (dimension.name == "batch") return fmt::format("{}", dimension.value);
  }
  return "";
}

// Data types and devices that all have in common are said once.
std::string measured_where(std::span<const NetworkMeasurement> networks) {
  for (const NetworkMeasurement& network : networks) {
    if (!network.summary) continue;
    return fmt::format("{} on {}, {}",
                       network.summary->training.inference ? "inference" : "training iterations",
                       printable(network.summary->measured.device), network.summary->dtype);
  }
  return "nothing could be measured";
}

}  // namespace

std::string to_text(std::span<const NetworkMeasurement> networks, const TextStyle& style) {
  const bool has_share =
      std::any_of(networks.begin(), networks.end(), [](const NetworkMeasurement& network) {
        return network.summary && network.summary->utilisation();
      });
  Table table({{.title = "network", .least_width = 12},
               {.title = "batch", .align = Align::right},
               {.title = "time", .align = Align::right},
               {.title = "±", .align = Align::right, .leaves = 3},
               {.title = "samples/s", .align = Align::right, .leaves = 2},
               {.title = "reached", .align = Align::right, .leaves = 1},
               {.title = "MFU", .align = Align::right, .leaves = 4, .is_shown = has_share},
               {.title = "memory", .align = Align::right},
               {.title = "first loss", .align = Align::right},
               {.title = "last", .align = Align::right},
               {.title = "iterations", .align = Align::right, .leaves = 5},
               {.title = "layers run"}});
  std::string reasons;
  for (const NetworkMeasurement& network : networks) {
    if (!network.summary) {
      reasons += fmt::format("  {}: {}\n", printable(network.model), printable(network.reason));
      continue;
    }
    const MeasurementSummary& summary = *network.summary;
    const MeasurementTotals& totals = summary.totals;
    const auto share = summary.utilisation();
    table.add_row({printable(network.model), batch_text(summary),
                   format_time(totals.iteration.time_s), format_time(totals.spread_s, 2),
                   format_count(totals.samples_per_s), format_flop_per_s(totals.flop_per_s),
                   share ? fmt::format("{:.0f} %", 100 * *share) : "",
                   capacity_text(memory_of(summary)), loss_text(summary.measured.loss_before),
                   loss_text(summary.measured.loss_after),
                   fmt::format("{}", summary.measured.iterations_run), rows_not_run(summary)});
  }
  std::string text = bold(measured_where(networks), style) + "\n\n" + table.to_text(style);
  if (!reasons.empty()) text += "\n  not measured\n" + reasons;
  return style.has_unicode ? text : to_ascii(text);
}

std::string to_csv(std::span<const NetworkMeasurement> networks) {
  std::string text =
      "model,device,batch,dtype,time_s,spread_s,samples_per_s,flop,flop_per_s,utilisation,peak_"
      "memory_bytes,"
      "loss_before,loss_after,iterations_run,rows,rows_not_run,reason\n";
  for (const NetworkMeasurement& network : networks) {
    text += csv_cell(network.model);
    if (!network.summary) {
      text += fmt::format(",,,,,,,,,,,,,,,,{}\n", csv_cell(network.reason));
      continue;
    }
    const MeasurementSummary& summary = *network.summary;
    const MeasurementTotals& totals = summary.totals;
    const auto number = [](const std::optional<double>& value) {
      return value ? fmt::format("{}", *value) : "";
    };
    text += fmt::format(",{},{}", csv_cell(summary.measured.device), batch_text(summary));
    text += fmt::format(",{},{},{},{},{},{},{},{}", summary.dtype, totals.iteration.time_s,
                        totals.spread_s, totals.samples_per_s, totals.flop, totals.flop_per_s,
                        number(summary.utilisation()), memory_of(summary));
    text += fmt::format(",{},{},{},{},{},\n", number(summary.measured.loss_before),
                        number(summary.measured.loss_after), summary.measured.iterations_run,
                        summary.measured.profile.rows.size(), totals.rows_not_run);
  }
  return text;
}

}  // namespace strata
