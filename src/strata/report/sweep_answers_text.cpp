// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/sweep_answers.hpp"
#include "strata/report/sweep_text.hpp"
#include "strata/report/table.hpp"
#include "strata/sweep/answers_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

constexpr std::size_t most_rows_shown = 24;  // of a front, so that it fits a screen
constexpr std::size_t most_knees_shown = 40;

std::string exact(std::size_t number) { return format_exact(static_cast<std::int64_t>(number)); }

std::string percent_text(double share) {
  const double percent = 100 * share;
  if (std::fabs(percent) < 0.05) return "0 %";
  return fmt::format("{:.{}f} %", percent, std::fabs(percent) < 9.95 ? 1 : 0);
}

bool is_listed(const std::vector<std::size_t>& columns, std::size_t column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

std::string out_of_memory_text(std::size_t points) {
  return points == 0
             ? ""
             : fmt::format("; {} more {} out of memory", exact(points), points == 1 ? "is" : "are");
}

/// What is shown of a point: the axes that vary, what was asked about, and how fast it is.
std::vector<std::size_t> shown_columns(const SweepTable& table,
                                       const std::vector<std::size_t>& asked) {
  std::vector<std::size_t> shown = varying_axes(table);
  for (const std::size_t column : asked) {
    if (!is_listed(shown, column)) shown.push_back(column);
  }
  const std::vector<FormulaColumn> columns = formula_columns(table);
  const bool has_expected = has_expected_times(table);
  for (const std::string_view name :
       {has_expected ? "expected_s" : "time_s", "samples_per_s", "strategy"}) {
    const auto column = find_column(name, columns);
    if (column && !is_listed(shown, *column)) shown.push_back(*column);
  }
  return shown;
}

std::vector<Column> headings_of(const SweepTable& table, const std::vector<std::size_t>& shown) {
  std::vector<Column> headings;
  for (const std::size_t column : shown) {
    const SweepColumn& of = table.columns[column];
    headings.push_back({.title = readable_heading(of.name),
                        .align = of.is_number ? Align::right : Align::left,
                        .least_width = of.is_number ? std::size_t{0} : std::size_t{8}});
  }
  return headings;
}

std::vector<std::string> cells_of(const SweepTable& table, const std::vector<std::size_t>& shown,
                                  std::size_t row) {
  std::vector<std::string> cells;
  for (const std::size_t column : shown) cells.push_back(readable_cell(table.columns[column], row));
  return cells;
}

std::string network_of(const SweepTable& table, std::size_t row) {
  const auto model = find_column("model", formula_columns(table));
  return model ? printable(table.columns[*model].text(row)) : "all points";
}

std::string goal_text(const SweepTable& table, const Goal& goal) {
  return fmt::format("{} {}{}", goal.is_most ? "most" : "least", table.columns[goal.column].name,
                     goal.is_per_sample ? " per sample" : "");
}

std::string pareto_text(const SweepAnswers& answers, const TextStyle& style) {
  std::vector<std::size_t> asked;
  std::vector<std::string> goals;
  for (const Goal& goal : answers.goals) {
    asked.push_back(goal.column);
    goals.push_back(goal_text(answers.table, goal));
  }
  std::vector<std::size_t> shown = shown_columns(answers.table, asked);
  if (const auto model = find_column("model", formula_columns(answers.table)))
    std::erase(shown, *model);  // a front is of one network, and named after it
  std::string text = bold(fmt::format("Pareto front: {}", fmt::join(goals, ", ")), style) +
                     "\nno other point is as good in all and better in one\n";
  if (std::any_of(answers.goals.begin(), answers.goals.end(),
                  [](const Goal& goal) { return goal.is_per_sample; }))
    text += "times are per sample, as the number of samples varies\n";
  for (const ParetoFront& front : answers.fronts) {
    if (front.rows.empty()) {
      if (front.out_of_memory > 0)
        text += fmt::format("\nout of memory: all {} points\n", exact(front.out_of_memory));
      continue;
    }
    const std::size_t count = front.rows.size();
    text +=
        fmt::format("\n{}: {} of {} points{}\n", network_of(answers.table, front.rows.front()),
                    exact(count), exact(front.considered), out_of_memory_text(front.out_of_memory));
    Table table(headings_of(answers.table, shown));
    const std::size_t lines = std::min(count, most_rows_shown);
    for (std::size_t line = 0; line < lines; ++line) {
      // Evenly spread over the front, with both its ends.
      const std::size_t at = lines == 1 ? 0 : line * (count - 1) / (lines - 1);
      table.add_row(cells_of(answers.table, shown, front.rows[at]));
    }
    text += table.to_text(style);
    if (lines < count)
      text += dim(fmt::format("{} of {} shown, evenly spread; --json FILE has all\n", exact(lines),
                              exact(count)),
                  style);
  }
  return text;
}

std::string verdict(const Knee& knee, std::string_view column) {
  if (!knee.judged) return "no value has its double in the sweep";
  if (knee.value) return fmt::format("twice as much saves {}", percent_text(knee.gain));
  return fmt::format("none: twice {} still saves {}", readable_number(column, *knee.judged),
                     percent_text(knee.gain));
}

std::string knee_text(const SweepAnswers& answers, const KneeAnswer& answer,
                      const TextStyle& style) {
  const std::string& name = answers.table.columns[answer.question.column].name;
  std::vector<std::size_t> shown = varying_axes(answers.table);
  std::erase(shown, answer.question.column);
  std::vector<Column> headings = headings_of(answers.table, shown);
  headings.push_back({.title = "knee at", .align = Align::right});
  headings.push_back({.title = "time", .align = Align::right});
  headings.push_back({.title = "", .least_width = 20});
  Table table(std::move(headings));
  const bool has_expected = has_expected_times(answers.table);
  const auto time =
      find_column(has_expected ? "expected_s" : "time_s", formula_columns(answers.table));
  const std::size_t lines = std::min(answer.knees.size(), most_knees_shown);
  for (std::size_t line = 0; line < lines; ++line) {
    const Knee& knee = answer.knees[line];
    std::vector<std::string> cells = cells_of(answers.table, shown, knee.row);
    cells.push_back(knee.value ? readable_number(name, *knee.value) : "");
    cells.push_back(time && knee.value ? readable_cell(answers.table.columns[*time], knee.row)
                                       : "");
    cells.push_back(verdict(knee, name));
    table.add_row(std::move(cells));
  }
  return bold(fmt::format("Knee of {}: from there on twice as much saves less than {:.3g} %", name,
                          100 * answer.question.least_gain),
              style) +
         "\n" + table.to_text(style) +
         (lines < answer.knees.size() ? dim(fmt::format("{} of {} shown; --json FILE has all\n",
                                                        exact(lines), exact(answer.knees.size())),
                                            style)
                                      : "");
}

// Both sides have the unit of the left one where that is a column.
std::string missed_text(const SweepTable& table, const MissedDemand& missed) {
  const auto column = find_column(missed.left_text, formula_columns(table));
  const std::string_view unit = column ? table.columns[*column].name : std::string_view();
  return fmt::format("{}: {}, not {} ({} beyond)", printable(missed.text),
                     readable_number(unit, missed.left), readable_number(unit, missed.right),
                     percent_text(missed.beyond));
}

std::string best_text(const SweepAnswers& answers, const TextStyle& style) {
  const std::string& constraint = *answers.questions.best_under;
  Formula formula(constraint, formula_columns(answers.table), "--best-under");
  const std::vector<std::size_t> shown = shown_columns(answers.table, formula.columns());
  Table table(headings_of(answers.table, shown));
  std::string text = bold(fmt::format("Fastest under {}", printable(constraint)), style) + "\n";
  const std::vector<RowGroup> networks = groups_by_network(answers.table);
  std::string remarks;
  for (std::size_t at = 0; at < answers.best.size(); ++at) {
    const BestUnder& best = answers.best[at];
    const std::string network = network_of(answers.table, networks[at].rows.front());
    const std::string left_out =
        out_of_memory_text(best.out_of_memory) +
        (best.limit_alone == 0
             ? ""
             : fmt::format("; {} more have a limit but no expected time", exact(best.limit_alone)));
    if (best.satisfying > 0) {
      remarks += fmt::format("{}: {} of {} points satisfy it{}\n", network, exact(best.satisfying),
                             exact(best.points), left_out);
      table.add_row(cells_of(answers.table, shown, *best.row));
      continue;
    }
    remarks += fmt::format("{}: none of {} points satisfies it{}{}\n", network, exact(best.points),
                           best.row ? "; the nearest is in the table" : "", left_out);
    if (best.row) table.add_row(cells_of(answers.table, shown, *best.row));
    for (const MissedDemand& missed : best.missed)
      remarks += fmt::format("  {}\n", missed_text(answers.table, missed));
  }
  const bool has_rows = std::any_of(answers.best.begin(), answers.best.end(),
                                    [](const BestUnder& best) { return best.row.has_value(); });
  return text + (has_rows ? table.to_text(style) : "") + remarks;
}

}  // namespace

std::string to_text(const SweepAnswers& answers, const TextStyle& style) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "\n") + part; };
  if (!answers.questions.where.empty())
    add(fmt::format("{} of {} points where {}\n", exact(answers.table.row_count),
                    exact(answers.rows_before),
                    printable(fmt::format("{}", fmt::join(answers.questions.where, " and ")))));
  if (answers.questions.pareto) add(pareto_text(answers, style));
  for (const KneeAnswer& knee : answers.knees) add(knee_text(answers, knee, style));
  if (answers.questions.best_under) add(best_text(answers, style));
  return style.has_unicode ? text : to_ascii(text);
}

}  // namespace strata
