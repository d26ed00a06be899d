// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/bar.hpp"
#include "strata/report/counts_text.hpp"
#include "strata/report/model_report.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

std::string layers_text(std::int64_t count) {
  return fmt::format("{} layer{}", format_exact(count), count == 1 ? "" : "s");
}

// An empty cell says "none" with less noise than a column of zeros.
std::string count_cell(std::int64_t count) { return count == 0 ? "" : count_text(count); }
std::string bytes_cell(std::int64_t bytes) { return bytes == 0 ? "" : bytes_text(bytes); }

bool is_training(const ModelSummary& summary) { return summary.mode == Mode::training; }

std::string header(const ModelSummary& summary) {
  std::string text = printable(summary.title);
  for (const Dimension& dimension : summary.dims) {
    text += fmt::format(", {} {}", printable(dimension.name), dimension.value);
  }
  text += fmt::format(", {}", summary.dtype);
  return text + (is_training(summary) ? ", training (forward and backward)"
                                      : ", inference (forward only)");
}

double share_of(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : to_double(part) / to_double(whole);
}

std::string share_cell(double share) { return fmt::format("{:.1f} %", 100 * share); }

constexpr std::string_view forward_title = "forward\nFLOP";
constexpr std::string_view backward_title = "backward\nFLOP";

std::string layer_table(const ModelSummary& summary, const std::vector<ModelRow>& rows,
                        const TextStyle& style) {
  Table table({{.title = "layer", .least_width = 16, .omit = Omit::beginning},
               {.title = "operator", .least_width = 11},
               {.title = "output", .leaves = 2},
               {.title = "parameters", .align = Align::right, .leaves = 1},
               {.title = std::string(forward_title), .align = Align::right},
               {.title = std::string(backward_title),
                .align = Align::right,
                .is_shown = is_training(summary)},
               {.title = "activation", .align = Align::right, .leaves = 3},
               {.title = "kept for\nbackward",
                .least_width = 8,
                .leaves = 4,
                .is_shown = is_training(summary)}});
  for (const ModelRow& row : rows) {
    const LayerSummary& layer = *row.layer;
    const LayerCounts& counts = layer.counts;
    const bool is_known = counts.uncounted == 0;
    table.add_row({printable(layer.name), printable(layer.op), shape_text(layer.output_shape),
                   count_cell(counts.parameters),
                   is_known ? count_cell(counts.forward.flop) : "unknown",
                   is_known ? count_cell(counts.backward_flop()) : "unknown",
                   bytes_cell(counts.activation_bytes), layer.kept == "nothing" ? "" : layer.kept});
  }
  const LayerCounts& totals = summary.totals;
  table.add_total({"total", layers_text(totals.nodes), "", count_cell(totals.parameters),
                   count_cell(totals.forward.flop), count_cell(totals.backward_flop()),
                   bytes_cell(totals.activation_bytes), bytes_cell(summary.kept_bytes)});
  return table.to_text(style);
}

std::string group_table(const ModelSummary& summary, std::string_view title,
                        const std::vector<ModelRow>& rows, const TextStyle& style) {
  Table table({{.title = std::string(title), .least_width = 16, .omit = Omit::beginning},
               {.title = "layers", .align = Align::right, .leaves = 2},
               {.title = "parameters", .align = Align::right, .leaves = 1},
               {.title = std::string(forward_title), .align = Align::right},
               {.title = std::string(backward_title),
                .align = Align::right,
                .is_shown = is_training(summary)},
               {.title = "share of\nFLOP", .align = Align::right},
               {.title = "", .leaves = 4},
               {.title = "activation", .align = Align::right, .leaves = 3}});
  const LayerCounts& totals = summary.totals;
  std::int64_t most_flop = 0;  // as long as the bar can be
  for (const ModelRow& row : rows) most_flop = std::max(most_flop, row.counts->flop());
  const auto cells = [&](std::string_view name,
                         const LayerCounts& counts) -> std::vector<std::string> {
    return {printable(name),
            format_exact(counts.nodes),
            count_cell(counts.parameters),
            count_cell(counts.forward.flop),
            count_cell(counts.backward_flop()),
            share_cell(share_of(counts.flop(), totals.flop())),
            &counts == &totals ? "" : bar(share_of(counts.flop(), most_flop)),
            bytes_cell(counts.activation_bytes)};
  };
  for (const ModelRow& row : rows) table.add_row(cells(row.name, *row.counts));
  table.add_total(cells("total", totals));
  return table.to_text(style);
}

std::string fact(std::string_view name, std::string_view text) {
  return fmt::format("  {:<11}  {}\n", name, text);
}

std::string parameter_facts(const ModelSummary& summary) {
  const LayerCounts& totals = summary.totals;
  std::string text =
      fmt::format("{} ({})", format_exact(totals.parameters), bytes_text(summary.parameter_bytes));
  if (totals.buffers == 0) return text;
  return fmt::format("{}, and {} numbers in buffers", text, format_exact(totals.buffers));
}

std::string forward_facts(const ModelSummary& summary) {
  const PassCounts& forward = summary.totals.forward;
  std::string text = fmt::format("{}, {} multiply-adds", format_flop(to_double(forward.flop)),
                                 count_text(forward.mac));
  const std::int64_t batch = summary.dim("batch").value_or(1);
  if (batch == 1) return text;
  const double mac_per_sample = to_double(forward.mac) / to_double(batch);
  return fmt::format("{} ({} per sample)", text, format_count(mac_per_sample));
}

/// Operations of a recording have their gradients in one.
std::string backward_facts(const ModelSummary& summary) {
  const LayerCounts& totals = summary.totals;
  if (!summary.operations.empty()) return format_flop(to_double(totals.backward_flop()));
  return fmt::format(
      "{}: input gradients {}, weight gradients {}", format_flop(to_double(totals.backward_flop())),
      count_text(totals.backward_input.flop), count_text(totals.backward_weight.flop));
}

std::string memory_facts(const ModelSummary& summary) {
  std::string text = fmt::format("activations {}", bytes_text(summary.totals.activation_bytes));
  if (!is_training(summary)) return text;
  return fmt::format("{}; kept for backward {}, each tensor once", text,
                     bytes_text(summary.kept_bytes));
}

/// The kinds of operations that launch something, the most first; the others as a sum.
std::string operations_text(const std::vector<OperationCount>& operations) {
  constexpr std::size_t most_kinds = 12;
  std::int64_t all = 0, views = 0;
  for (const OperationCount& one : operations) {
    all += one.count;
    if (!one.launches) views += one.count;
  }
  std::string text =
      fact("operations", fmt::format("{} of {} kinds, {} of them views and allocations",
                                     format_exact(all), operations.size(), format_exact(views)));
  std::string line;
  for (std::size_t i = 0; i < std::min(most_kinds, operations.size()); ++i) {
    if (!operations[i].launches) break;
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", format_exact(operations[i].count),
                        operations[i].name);
    const bool ends = i % 4 == 3 || i + 1 == std::min(most_kinds, operations.size()) ||
                      !operations[i + 1].launches;
    if (!ends) continue;
    text += fact("", line);
    line.clear();
  }
  return text;
}

std::string facts(const ModelSummary& summary) {
  const LayerCounts& totals = summary.totals;
  std::string text = fact("parameters", parameter_facts(summary));
  text += fact("forward", forward_facts(summary));
  if (is_training(summary)) text += fact("backward", backward_facts(summary));
  text += fact("memory", memory_facts(summary));
  if (!summary.operations.empty()) text += operations_text(summary.operations);
  if (totals.uncounted > 0) {
    text += fact("not counted",
                 layers_text(totals.uncounted) +
                     " with an operator that Strata does not know: their FLOP are missing");
  }
  return text;
}

std::string closing(const ModelSummary& summary, const ModelView& view) {
  std::string text;
  if (!summary.source.empty()) text += fmt::format("source: {}\n", printable(summary.source));
  text += "counted from the shapes, not measured; a multiply-add is 2 FLOP (strata help show)\n";
  text += fmt::format(
      "more: {}  --top N  --batch N  --dtype bf16  --json FILE  --csv FILE  --dot FILE  --html "
      "FILE\n",
      view.by == GroupBy::layer ? "--by type|block" : "--by layer|type|block");
  return text;
}

}  // namespace

std::string to_text(const ModelSummary& summary, const ModelView& view, const TextStyle& style) {
  const std::vector<ModelRow> rows = rows_of(summary, view);
  std::string text = bold(header(summary), style) + "\n\n";
  switch (view.by) {
    case GroupBy::layer: text += layer_table(summary, rows, style); break;
    case GroupBy::type: text += group_table(summary, "operator", rows, style); break;
    case GroupBy::block: text += group_table(summary, "block", rows, style); break;
  }
  text += '\n' + facts(summary) + '\n';
  text += dim(closing(summary, view), style);
  return style.has_unicode ? text : to_ascii(text);
}

}  // namespace strata
