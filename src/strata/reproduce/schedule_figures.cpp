// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/csv_rows.hpp"
#include "strata/reproduce/figures.hpp"
#include "strata/reproduce/thesis_example.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace strata {
namespace {

struct NamedSchedule {
  std::string_view name;
  PredictOptions options;
};

PredictOptions example_options(Prefetch prefetch, Offload offload) {
  return {.policy = Policy::thesis, .prefetch = prefetch, .offload = offload};
}

/// `name` stands on it, `label` shows when it is pointed at.
chart::Band block(double start_s, double end_s, double lane, std::string name, std::string label,
                  chart::Color color) {
  return {.x_from = start_s,
          .x_to = end_s,
          .y_from = lane + 0.1,
          .y_to = lane + 0.9,
          .label = std::move(label),
          .color = color,
          .is_solid = true,
          .name = std::move(name)};
}

std::string_view transfer_name(TransferKind kind) {
  switch (kind) {
    case TransferKind::load: return "load";
    case TransferKind::write_back: return "write back";
    case TransferKind::stream: break;
  }
  return "stream";
}

/// Arithmetic above, transfers below; what is pointed at says for which layer it is.
chart::Chart schedule_panel(const NamedSchedule& schedule, const Prediction& prediction,
                            double longest_s, CsvRows& rows) {
  const double gap_s = 0.003 * longest_s;  // between blocks that touch
  chart::Chart panel{
      .title = fmt::format("{}: {}", schedule.name, format_time(prediction.time_s)),
      .x = {.title = "time", .quantity = chart::Quantity::seconds, .least = 0.0, .most = longest_s},
      .y = {.title = "below transfers, above arithmetic", .least = 0.0, .most = 2.0}};
  for (StepId step = 0; step < prediction.steps.size(); ++step) {
    const StepResult& result = prediction.steps[step];
    const std::string what = thesis_example_name(step);
    const double end_s = result.start_s + result.compute_s;
    panel.bands.push_back(
        block(result.start_s, end_s - gap_s, 1, thesis_example_layer(step), what, 0));
    rows.add("example", schedule.name, "arithmetic", what, result.start_s, end_s);
  }
  for (const Transfer& transfer : prediction.transfers) {
    const std::string name = thesis_example_name_of_value(transfer.value);
    const std::string what = fmt::format("{} {} for {}", transfer_name(transfer.kind), name,
                                         thesis_example_name(transfer.step));
    const bool is_out = transfer.kind == TransferKind::write_back;
    panel.bands.push_back(
        block(transfer.start_s, transfer.end_s - gap_s, 0, name, what, is_out ? 1 : 2));
    rows.add("example", schedule.name, "transfers", what, transfer.start_s, transfer.end_s);
  }
  panel.band_keys = {{.name = "arithmetic", .shade = {}, .color = 0},
                     {.name = "write-back", .shade = {}, .color = 1},
                     {.name = "load, stream", .shade = {}, .color = 2}};
  return panel;
}

Figure schedule_figure(std::string name, std::string title,
                       const std::vector<NamedSchedule>& schedules) {
  const Program program = thesis_example();
  const AccessList list(program);
  std::vector<Prediction> predictions;
  double longest_s = 0;
  for (const NamedSchedule& schedule : schedules) {
    predictions.push_back(
        predict(list, thesis_example_hardware(), schedule.options, Record::transfers));
    longest_s = std::max(longest_s, predictions.back().time_s);
  }
  CsvRows rows("network,policy,lane,what,start_s,end_s");
  std::vector<chart::Chart> panels;
  for (std::size_t i = 0; i < schedules.size(); ++i)
    panels.push_back(schedule_panel(schedules[i], predictions[i], longest_s, rows));
  return {.name = std::move(name),
          .csv = std::move(rows).take(),
          .grid = {.title = std::move(title),
                   .subtitle = "An example of four layers, forward and backward; a gap in the "
                               "arithmetic is a stall",
                   .panels = std::move(panels),
                   .columns = 1,
                   .plot_height = 90}};
}

}  // namespace

std::vector<Figure> schedule_figures() {
  return {
      schedule_figure("figure-4.1-prefetch",
                      "Figure 4.1: naive and latency-aware prefetch of one example",
                      {{"(a) naive: the next layer's data",
                        example_options(Prefetch::next_layer, Offload::look_ahead)},
                       {"(b) latency-aware list",
                        example_options(Prefetch::listing_printed, Offload::look_ahead)}}),
      schedule_figure(
          "figure-4.2-offload", "Figure 4.2: on-demand and look-ahead offload of one example",
          {{"(a) on demand", example_options(Prefetch::listing_printed, Offload::on_demand)},
           {"(b) look-ahead", example_options(Prefetch::listing_printed, Offload::look_ahead)}})};
}

}  // namespace strata
