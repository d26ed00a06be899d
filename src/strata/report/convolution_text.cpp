// SPDX-License-Identifier: Apache-2.0
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/report/convolution_cells.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace strata {
namespace {

/// One column of the table: a strategy, or the fastest of the many that a library offers.
struct TimeColumn {
  std::string title;
  std::vector<std::string> strategies;
  std::string prefix;  ///< of names that follow a time: "cudnn:"; empty: there is one strategy
};

std::vector<TimeColumn> columns_of(const ConvResults& results) {
  std::vector<TimeColumn> columns;
  for (const ConvStrategyName& strategy : results.strategies) {
    const std::size_t colon = strategy.name.find(':');
    if (!strategy.is_vendor || colon == std::string::npos || is_vendor_default(strategy)) {
      columns.push_back({strategy.name, {strategy.name}, ""});
      continue;
    }
    const std::string prefix = strategy.name.substr(0, colon + 1);
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&](const TimeColumn& each) { return each.prefix == prefix; });
    if (found != columns.end()) {
      found->strategies.push_back(strategy.name);
    } else {
      columns.push_back({strategy.name.substr(0, colon) + " best", {strategy.name}, prefix});
    }
  }
  return columns;
}

constexpr std::size_t most_notes = 12;

/// Reasons below a table, each once, in the order in which they are met.
class Notes {
 public:
  std::string mark(const std::string& reason, std::string_view strategy) {
    const auto found = std::find_if(notes_.begin(), notes_.end(),
                                    [&](const Note& note) { return note.reason == reason; });
    Note& note = found != notes_.end() ? *found : notes_.emplace_back(Note{reason, {}});
    if (std::find(note.who.begin(), note.who.end(), strategy) == note.who.end())
      note.who.emplace_back(strategy);
    return fmt::format("[{}]", &note - notes_.data() + 1);
  }
  std::string to_text() const {
    std::string text;
    for (std::size_t i = 0; i < std::min(notes_.size(), most_notes); ++i) {
      text +=
          fmt::format("  [{}] {}: {}\n", i + 1, fmt::join(notes_[i].who, ", "), notes_[i].reason);
    }
    if (notes_.size() > most_notes)
      text += fmt::format("  and {} more like these\n", notes_.size() - most_notes);
    return text;
  }

 private:
  struct Note {
    std::string reason;
    std::vector<std::string> who;
  };
  std::vector<Note> notes_;
};

const ConvCell* fastest_cell(const ConvIndex& index, const ConvPoint& point, ConvPass pass,
                             const TimeColumn& column) {
  const ConvCell* best = nullptr;
  for (const std::string& strategy : column.strategies) {
    const ConvCell* cell = index.find(point.shape, pass, strategy);
    if (cell == nullptr) continue;
    const bool is_better = best == nullptr || (cell->is_measured() && !best->is_measured()) ||
                           (cell->is_measured() && cell->time_s() < best->time_s());
    if (is_better) best = cell;
  }
  return best;
}

/// How a cell stands to the others of its row.
enum class Lead : std::uint8_t { behind, ahead, unclear };

std::string time_cell(const ConvCell* cell, const TimeColumn& column, Lead lead, Notes& notes) {
  if (cell == nullptr) return "";
  if (!cell->is_measured()) {
    const char* sign = cell->status == ConvStatus::refused ? "–" : "✗";
    const std::string who = column.prefix.empty() ? cell->strategy : column.title;
    return fmt::format("{} {}", sign, notes.mark(cell->reason, who));
  }
  std::string text = fmt::format("{}{} ({})", milliseconds_text(cell->time_s()),
                                 spread_text(cell->spread()), mebibytes_text(cell->scratch_bytes));
  if (!column.prefix.empty()) text += " " + cell->strategy.substr(column.prefix.size());
  return text + (lead == Lead::ahead ? " ←" : lead == Lead::unclear ? " ←?" : "");
}

std::string table_text(const ConvResults& results, const ConvIndex& index, const ConvSeries& series,
                       const ConvAdvice& advice, const TextStyle& style) {
  const auto columns = columns_of(results);
  std::vector<Column> heads = {{.title = series.is_sweep ? series.name : "layer",
                                .align = series.is_sweep ? Align::right : Align::left}};
  for (const TimeColumn& column : columns) heads.push_back({.title = column.title});
  Table table(std::move(heads));
  Notes notes;
  bool has_rows = false;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const ConvPoint& point = series.points[i];
    if (point.counts[static_cast<std::size_t>(advice.pass)] == 0) continue;
    std::vector<std::string> row = {series.is_sweep ? fmt::format("{}", *point.at) : point.label};
    if (const auto reason = refusal_of(point.shape)) {
      row.push_back("– " + notes.mark(*reason, point.label));
      row.resize(columns.size() + 1);
      table.add_row(std::move(row));
      has_rows = true;
      continue;
    }
    bool is_there = false;  // a run that was cut short has not come to all points
    for (const TimeColumn& column : columns) {
      const ConvCell* cell = fastest_cell(index, point, advice.pass, column);
      is_there = is_there || cell != nullptr;
      const bool is_fastest =
          cell != nullptr && advice.fastest[i] && advice.fastest[i]->strategy == cell->strategy;
      row.push_back(time_cell(cell, column,
                              !is_fastest          ? Lead::behind
                              : advice.is_clear[i] ? Lead::ahead
                                                   : Lead::unclear,
                              notes));
    }
    if (is_there) table.add_row(std::move(row));
    has_rows = has_rows || is_there;
  }
  return has_rows ? table.to_text(style) + notes.to_text() : "  nothing is measured yet\n";
}

std::string advice_text(const ConvAdvice& advice, const ConvSeries& series) {
  if (advice.recommendation.empty()) return "";
  if (advice.budget_bytes) {
    return fmt::format("  within {} of scratch memory: {}\n",
                       format_capacity(static_cast<double>(*advice.budget_bytes)),
                       advice.recommendation);
  }
  std::string text = fmt::format("  {}\n", advice.recommendation);
  for (const ConvCrossover& each : advice.crossovers) {
    text += each.cannot ? fmt::format("  from {} = {} on {} cannot; {} is the fastest\n",
                                      series.name, each.at, each.behind, each.ahead)
                        : fmt::format("  {} overtakes {} at {} = {}\n", each.ahead, each.behind,
                                      series.name, each.at);
  }
  if (const auto& against = advice.against_vendor) {
    text += fmt::format(
        "  our fastest takes {:.2f}× the time of the library's fastest (geometric mean), and is "
        "ahead at {} of {} points\n",
        against->ratio, against->ahead, against->points);
  }
  return text;
}

std::string warnings_text(const ConvResults& results) {
  std::string text;
  for (const ConvWarning& warning : conv_warnings(results))
    text += fmt::format("warning: {}\n", warning.message);
  return text.empty() ? text : "\n" + text;
}

/// "measured 2026-03-01 with strata 0.1.0, driver 580.1; clock 1755 MHz of 1980"; empty: unknown.
std::string origin_text(const ConvResults& results) {
  const ConvOrigin& origin = results.origin;
  const bool is_known = !origin.date.empty() || !origin.facts.versions.empty();
  const bool has_times = std::any_of(results.cells.begin(), results.cells.end(),
                                     [](const ConvCell& cell) { return cell.is_timed(); });
  if (!is_known || !has_times) return "";
  std::vector<std::string> versions;
  for (const Version& each : origin.facts.versions)
    versions.push_back(fmt::format("{} {}", each.of, each.version));
  std::string text = "measured";
  if (!origin.date.empty()) text += " " + origin.date.substr(0, origin.date.find('T'));
  if (!versions.empty()) text += fmt::format(" with {}", fmt::join(versions, ", "));
  constexpr double mega = 1e-6;
  const auto clock = clock_hz_of(results);
  const auto most = origin.facts.most_clock_hz;
  if (clock) text += fmt::format("; clock {:.0f} MHz", *clock * mega);
  if (most)
    text += fmt::format("{} {:.0f}{}", clock ? " of" : "; clock up to", *most * mega,
                        clock ? "" : " MHz");
  return text + "\n";
}

}  // namespace

std::string to_text(const ConvResults& results, const ConvView& view, const TextStyle& style) {
  const ConvIndex index(results);
  std::string text;
  const ConvAdvice* table_advice = nullptr;
  const auto all = conv_advice(results, view.budgets_bytes);
  for (const ConvAdvice& advice : all) {
    const ConvSeries& series = results.series[advice.series_index];
    if (!advice.budget_bytes) {
      table_advice = &advice;
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n",
                          bold(series_title(results, series, advice.pass), style));
      text += table_text(results, index, series, *table_advice, style);
      const bool wants_details = view.wants_details || series.points.size() == 1;
      if (wants_details) text += details_text(results, index, series, advice.pass, style);
      if (wants_details || results.has_efficiencies)
        text += efficiencies_text(results, index, series, advice.pass, style);
    }
    text += advice_text(advice, series);
  }
  text += warnings_text(results);
  if (const std::string origin = origin_text(results); !origin.empty()) text += "\n" + origin;
  return style.has_unicode ? text : to_ascii(text);
}

std::string network_advice_text(const ConvResults& results, const ConvView& view,
                                const TextStyle& style) {
  std::string text;
  const auto budget =
      view.budgets_bytes.empty() ? std::nullopt : std::optional(view.budgets_bytes.front());
  for (const ConvSeries& series : results.series) {
    const ConvNetworkAdvice advice = conv_network_advice(results, series, budget);
    const bool has_default = !advice.default_name.empty();
    Table table({{.title = "convolution", .least_width = 16, .omit = Omit::beginning},
                 {.title = "shape", .leaves = 1},
                 {.title = "pass"},
                 {.title = "runs", .align = Align::right},
                 {.title = "take"},
                 {.title = "ms", .align = Align::right},
                 {.title = "scratch\nMiB", .align = Align::right},
                 {.title = has_default ? advice.default_name + "\nms" : "",
                  .align = Align::right,
                  .is_shown = has_default},
                 {.title = "gain", .align = Align::right, .is_shown = has_default}});
    for (const ConvLayerChoice& layer : advice.layers) {
      const ConvPoint& point = series.points[layer.point];
      std::vector<std::string> row = {point.label, to_text(point.shape),
                                      std::string(name_of(layer.pass)),
                                      fmt::format("{}", layer.count)};
      row.push_back(layer.best ? layer.best->strategy : "–");
      row.push_back(layer.best ? milliseconds_text(layer.best->time_s) : "");
      row.push_back(layer.best ? mebibytes_text(layer.best->scratch_bytes) : "");
      row.push_back(layer.vendor_default ? milliseconds_text(layer.vendor_default->time_s) : "–");
      const bool has_gain = layer.best && layer.vendor_default && layer.best->time_s > 0;
      row.push_back(!has_gain         ? ""
                    : !layer.is_clear ? "unclear"
                                      : fmt::format("{:.2f}×", layer.vendor_default->time_s /
                                                                   layer.best->time_s));
      table.add_row(std::move(row));
    }
    text += fmt::format("{}{}, convolutions of one training iteration, {}, {}\n\n{}\n",
                        text.empty() ? "" : "\n", bold(series.name, style), name_of(results.dtype),
                        results.device, table.to_text(style));
    text += network_sum_text(advice);
  }
  text += warnings_text(results);
  if (const std::string origin = origin_text(results); !origin.empty()) text += "\n" + origin;
  return style.has_unicode ? text : to_ascii(text);
}

}  // namespace strata
