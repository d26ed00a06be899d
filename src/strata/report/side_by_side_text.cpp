// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/profile/joined_rows.hpp"
#include "strata/report/comparison_report.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

double seconds_in(const std::optional<Totals>& totals) { return totals ? totals->time_s : 0; }

/// Times, and behind all but the first how they compare with it.
std::vector<std::string> side_cells(const SideRow& row) {
  std::vector<std::string> cells = {printable(row.layer), pass_title(row.pass, row.op)};
  for (std::size_t i = 0; i < row.totals.size(); ++i) {
    cells.push_back(row.totals[i] ? format_time(row.totals[i]->time_s) : "–");
    if (i == 0) continue;
    const double first_s = seconds_in(row.totals[0]);
    const double ratio = first_s > 0 ? seconds_in(row.totals[i]) / first_s : 0;
    cells.push_back(!row.totals[i] || first_s <= 0 ? ""
                    : ratio >= 100                 ? fmt::format("{:.0f}", ratio)
                                                   : fmt::format("{:.2f}", ratio));
  }
  return cells;
}

std::string side_table(const std::vector<SideRow>& rows, const std::vector<std::string>& names,
                       std::string title, const SideRow* total, const TextStyle& style) {
  const bool has_passes =
      std::any_of(rows.begin(), rows.end(), [](const SideRow& row) { return !row.pass.empty(); });
  std::vector<Column> columns = {
      {.title = std::move(title), .least_width = 16, .omit = Omit::beginning},
      {.title = "", .is_shown = has_passes}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    columns.push_back({.title = printable(names[i]), .align = Align::right});
    if (i > 0) columns.push_back({.title = "ratio", .align = Align::right, .leaves = 1});
  }
  Table table(std::move(columns));
  for (const SideRow& row : rows) table.add_row(side_cells(row));
  if (total != nullptr) table.add_total(side_cells(*total));
  return table.to_text(style);
}

/// What stands beside expected times.
std::string limits_text(const SideBySide& all, const std::vector<std::string>& names) {
  std::vector<std::string> limits;
  for (std::size_t i = 0; i < all.labels.size(); ++i) {
    if (all.labels[i].expected)
      limits.push_back(
          fmt::format("{} {}", printable(names[i]), format_time(*all.labels[i].limit_s)));
  }
  return limits.empty() ? "" : fmt::format("  limits: {}\n", fmt::join(limits, ", "));
}

void widest_first(std::vector<SideRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const SideRow& a, const SideRow& b) { return a.spread_s() > b.spread_s(); });
}

std::string label_text(const std::string& name, const ProfileLabel& label) {
  const ProfileSubject& subject = label.subject;
  std::string text = fmt::format("{}: {}", printable(name),
                                 subject.title.empty() ? "a network" : printable(subject.title));
  if (!subject.setup_or_dtype().empty()) text += ", " + printable(subject.setup_or_dtype());
  return text + fmt::format(", {}\n", times_text(label));
}

}  // namespace

std::string times_text(const ProfileLabel& label) {
  const ProfileSubject& subject = label.subject;
  const std::string_view evidence = label.expected ? "expected" : name_of(label.evidence);
  std::string text(evidence);
  if (!subject.machine_title.empty())
    text += fmt::format(" on {}", printable(subject.machine_title));
  if (const auto& expected = label.expected)
    text += fmt::format(": {} ({} to {}) in {}", format_time(expected->time_s),
                        format_time(expected->low_s), format_time(expected->high_s),
                        printable(expected->framework));
  return text;
}

std::string to_text(const SideBySide& all, const std::vector<std::string>& names,
                    const CompareView& view, const TextStyle& style) {
  std::string heads;
  for (std::size_t i = 0; i < all.labels.size(); ++i) heads += label_text(names[i], all.labels[i]);
  std::string text = bold(heads, style) + '\n';
  SideRow total{.layer = "iteration", .pass = "", .op = "", .block = "", .totals = {}};
  for (const IterationTime& iteration : all.iterations)
    total.totals.emplace_back(Totals{.time_s = iteration.time_s});
  std::vector<SideRow> rows = all.rows;
  if (view.by != CompareBy::layer) {
    std::string SideRow::*const key = view.by == CompareBy::type    ? &SideRow::op
                                      : view.by == CompareBy::block ? &SideRow::block
                                                                    : &SideRow::pass;
    rows = grouped(all, key);
    if (view.by == CompareBy::type) widest_first(rows);
  }
  text += side_table(rows, names, "", &total, style) + limits_text(all, names) + '\n';
  if (view.layers > 0 && view.by != CompareBy::layer) {
    std::vector<SideRow> widest = all.rows;
    widest_first(widest);
    widest.resize(std::min(widest.size(), view.layers));
    text += side_table(widest, names, "largest differences", nullptr, style) + '\n';
  }
  text +=
      dim(fmt::format("more: --top N  --by {}  --csv FILE  --html FILE\n",
                      view.by == CompareBy::type ? "block|pass|layer" : "type|block|pass|layer"),
          style);
  return style.has_unicode ? text : to_ascii(text);
}

std::string to_csv(const SideBySide& all, const std::vector<std::string>& names) {
  std::string text = "layer,pass,op,block";
  for (const std::string& name : names) text += "," + csv_cell(name + " time_s");
  text += '\n';
  for (const SideRow& row : all.rows) {
    text += fmt::format("{},{},{},{}", csv_cell(row.layer), csv_cell(row.pass), csv_cell(row.op),
                        csv_cell(row.block));
    for (const std::optional<Totals>& totals : row.totals)
      text += totals ? fmt::format(",{}", totals->time_s) : ",";
    text += '\n';
  }
  return text;
}

}  // namespace strata
