// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/profile/joined_rows.hpp"
#include "strata/report/comparison_report.hpp"
#include "strata/report/counts_text.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace strata {
namespace {

// "1.34", and to three places near 1, where a hundredth may be the whole difference.
std::string ratio_text(double a, double b) {
  if (a <= 0) return "";
  constexpr double near = 0.0995;
  const double ratio = b / a;
  if (ratio >= 100) return fmt::format("{:.0f}", ratio);
  return fmt::format("{:.{}f}", ratio, std::abs(ratio - 1) < near ? 3 : 2);
}

/// What the roundings of two sums leave is no difference.
std::string difference_text(double a_s, double b_s) {
  const double rounding_s = 1e-9 * std::max(std::abs(a_s), std::abs(b_s));
  const double more_s = std::abs(b_s - a_s) < rounding_s ? 0 : b_s - a_s;
  return (more_s < 0 ? "−" : "+") + format_time(std::abs(more_s));
}

/// How the two are called in the heads of columns.
std::pair<std::string, std::string> column_names(const ProfileComparison& comparison,
                                                 const CompareView& view) {
  if (comparison.a.times() != comparison.b.times())
    return {std::string(comparison.a.times()), std::string(comparison.b.times())};
  return {printable(view.a), printable(view.b)};
}

std::string subject_text(const ProfileLabel& label) {
  const ProfileSubject& subject = label.subject;
  std::string text = subject.title.empty() ? "a network" : printable(subject.title);
  if (!subject.setup_or_dtype().empty()) text += ", " + printable(subject.setup_or_dtype());
  return text + fmt::format(", {}", times_text(label));
}

constexpr double least_compared_share = 0.005;

/// Where a profile does not say how long its iteration took, or a recording has none.
std::string added_up_text(const ProfileComparison& comparison, std::string_view a_name,
                          std::string_view b_name) {
  std::string text;
  const auto add = [&](const IterationTime& iteration, std::string_view name) {
    if (iteration.from == TimeFrom::rows)
      text +=
          fmt::format("  {} does not say the time of the iteration: its rows are added up\n", name);
    if (iteration.from == TimeFrom::recording)
      text += fmt::format(
          "  {} has no steps that were found: its time is that of the whole recording\n", name);
  };
  add(comparison.iteration_a, a_name);
  add(comparison.iteration_b, b_name);
  return text;
}

std::string counting_text(const ProfileComparison& comparison, std::string_view a_name,
                          std::string_view b_name) {
  if (comparison.a.mac_is_one == comparison.b.mac_is_one) return "";
  const bool is_a = comparison.a.mac_is_one;
  return fmt::format(
      "  {} counts a multiply-add as 1 operation, {} as 2: their FLOP and rates differ by that\n",
      is_a ? a_name : b_name, is_a ? b_name : a_name);
}

struct ComparedLine {
  std::string name;
  std::string pass;
  const Totals* a;
  const Totals* b;
};

// What the second one reached, and whether it counts other work than the first. The bytes of a
// predicted row move while other rows run: over the row's own time they are no rate.
std::string what_text(const Totals* a, const Totals* b, Evidence evidence) {
  if (b == nullptr || b->time_s <= 0) return "";
  std::string text;
  const auto append = [&](const std::string& more) {
    if (!text.empty()) text += ", ";
    text += more;
  };
  if (b->flop > 0) append(format_flop_per_s(to_double(b->flop) / b->time_s));
  if (b->traffic_bytes() > 0 && evidence == Evidence::measured)
    append(format_bytes_per_s(to_double(b->traffic_bytes()) / b->time_s));
  if (a == nullptr) return text;
  const auto differ = [](std::int64_t x, std::int64_t y) {
    return x > 0 && y > 0 && std::abs(to_double(y) / to_double(x) - 1) > 0.05;
  };
  if (differ(a->flop, b->flop))
    append(fmt::format("{} times the FLOP", ratio_text(to_double(a->flop), to_double(b->flop))));
  if (differ(a->traffic_bytes(), b->traffic_bytes())) {
    append(fmt::format("{} times the bytes",
                       ratio_text(to_double(a->traffic_bytes()), to_double(b->traffic_bytes()))));
  }
  return text;
}

/// The limits below the iterations, where expected times are compared.
void add_limits(Table& table, const ProfileComparison& comparison) {
  const std::optional<double>& a = comparison.a.limit_s;
  const std::optional<double>& b = comparison.b.limit_s;
  if (!comparison.a.expected && !comparison.b.expected) return;
  table.add_total({"limit", "", a ? format_time(*a) : "–", b ? format_time(*b) : "–",
                   a && b ? ratio_text(*a, *b) : "", a && b ? difference_text(*a, *b) : "",
                   "perfect kernels"});
}

/// What an iteration is besides its rows, in the order in which it is shown.
struct ComparedRest {
  std::string name;
  double a_s = 0;  ///< less than 0: rows ran at the same time
  double b_s = 0;
};

bool is_recorded(const IterationTime& iteration) {
  return iteration.from == TimeFrom::step || iteration.from == TimeFrom::recording;
}

/// Gaps by their causes where both are recordings, which say them.
std::vector<ComparedRest> rests_of(const ProfileComparison& comparison) {
  const IterationTime& a = comparison.iteration_a;
  const IterationTime& b = comparison.iteration_b;
  std::vector<ComparedRest> rests = {{"at the same time", -a.overlap_s, -b.overlap_s}};
  if (is_recorded(a) && is_recorded(b)) {
    for (const ComparedIdle& idle : comparison.idle)
      rests.push_back({"idle: " + idle.cause, idle.a_s, idle.b_s});
  } else {
    rests.push_back({"between kernels", a.gaps_s, b.gaps_s});
  }
  rests.push_back({"last write-backs", a.drain_s, b.drain_s});
  std::erase_if(rests, [&](const ComparedRest& rest) {
    return a.share_of(std::abs(rest.a_s)) < least_compared_share &&
           b.share_of(std::abs(rest.b_s)) < least_compared_share;
  });
  return rests;
}

std::string compared_table(const ProfileComparison& comparison, const CompareView& view,
                           const std::vector<ComparedLine>& lines, std::string_view title,
                           bool has_total, const TextStyle& style) {
  const auto [a_name, b_name] = column_names(comparison, view);
  const bool has_passes = std::any_of(lines.begin(), lines.end(),
                                      [](const ComparedLine& line) { return !line.pass.empty(); });
  Table table({{.title = std::string(title), .least_width = 16, .omit = Omit::beginning},
               {.title = "", .is_shown = has_passes},
               {.title = a_name, .align = Align::right},
               {.title = b_name, .align = Align::right},
               {.title = "ratio", .align = Align::right},
               {.title = "difference", .align = Align::right, .leaves = 1},
               {.title = fmt::format("{} reached", b_name), .least_width = 10, .leaves = 2}});
  const auto cells = [&](const std::string& name, const std::string& pass, const Totals* a,
                         const Totals* b) -> std::vector<std::string> {
    const double a_s = a ? a->time_s : 0;
    const double b_s = b ? b->time_s : 0;
    return {name,
            pass,
            a ? format_time(a_s) : "–",
            b ? format_time(b_s) : "–",
            a && b ? ratio_text(a_s, b_s) : "",
            difference_text(a_s, b_s),
            what_text(a, b, comparison.b.evidence)};
  };
  for (const ComparedLine& line : lines)
    table.add_row(cells(printable(line.name), line.pass, line.a, line.b));
  if (has_total) {
    const bool has_recording =
        is_recorded(comparison.iteration_a) || is_recorded(comparison.iteration_b);
    if (has_recording)
      table.add_row(cells("all kernels", "", &comparison.total_a, &comparison.total_b));
    for (const ComparedRest& rest : rests_of(comparison)) {
      const auto time = [](double time_s) {
        return time_s == 0 ? "–" : (time_s < 0 ? "−" : "") + format_time(std::abs(time_s));
      };
      table.add_row({rest.name, "", time(rest.a_s), time(rest.b_s),
                     rest.b_s > 0 ? ratio_text(rest.a_s, rest.b_s) : "",
                     difference_text(rest.a_s, rest.b_s), ""});
    }
    // The work of all rows in the time of the iteration.
    Totals all_a = comparison.total_a;
    Totals all_b = comparison.total_b;
    all_a.time_s = comparison.iteration_a.time_s;
    all_b.time_s = comparison.iteration_b.time_s;
    table.add_total(cells("iteration", "", &all_a, &all_b));
    add_limits(table, comparison);
  }
  return table.to_text(style);
}

std::vector<ComparedLine> lines_of_rows(const std::vector<const ComparedRow*>& rows) {
  std::vector<ComparedLine> lines;
  for (const ComparedRow* row : rows)
    lines.push_back({row->layer, pass_title(row->pass, row->op), row->a ? &*row->a : nullptr,
                     row->b ? &*row->b : nullptr});
  return lines;
}

std::string compared_where(const ProfileComparison& comparison, const CompareView& view,
                           const TextStyle& style) {
  if (view.by == CompareBy::layer) {
    std::vector<const ComparedRow*> rows;
    for (const ComparedRow& row : comparison.rows) rows.push_back(&row);
    return compared_table(comparison, view, lines_of_rows(rows), "", true, style);
  }
  std::string ComparedRow::*const key = view.by == CompareBy::type    ? &ComparedRow::op
                                        : view.by == CompareBy::block ? &ComparedRow::block
                                                                      : &ComparedRow::pass;
  std::vector<ComparedGroup> groups = grouped(comparison, key);
  if (view.by == CompareBy::type) {
    std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
      return std::max(a.a.time_s, a.b.time_s) > std::max(b.a.time_s, b.b.time_s);
    });
  }
  std::vector<ComparedLine> lines;
  for (const ComparedGroup& group : groups) {
    lines.push_back({group.name, "", group.a.steps > 0 ? &group.a : nullptr,
                     group.b.steps > 0 ? &group.b : nullptr});
  }
  return compared_table(comparison, view, lines, "", true, style);
}

std::string only_in(const ProfileComparison& comparison, std::string_view name, bool in_a) {
  constexpr std::size_t named = 4;
  std::size_t count = 0;
  double seconds = 0;
  std::string names;
  for (const ComparedRow& row : comparison.rows) {
    if (in_a ? row.b.has_value() : row.a.has_value()) continue;
    if (++count <= named)
      names += fmt::format("{}{} {}", count > 1 ? ", " : "", printable(row.layer),
                           pass_title(row.pass, row.op));
    seconds += in_a ? row.a_s() : row.b_s();
  }
  if (count == 0) return "";
  return fmt::format("  only {}: {} {}, {}: {}{}\n", name, count, count == 1 ? "row" : "rows",
                     format_time(seconds), names, count > named ? ", …" : "");
}

std::string answer_text(const ProfileComparison& comparison, const CompareView& view) {
  if (!view.threshold) return "";
  const bool is_beyond = comparison.is_beyond(*view.threshold);
  return fmt::format("  {} of {:.3g} %\n",
                     is_beyond ? "no: beyond the threshold" : "yes: within the threshold",
                     100 * *view.threshold);
}

}  // namespace

std::string to_text(const ProfileComparison& comparison, const CompareView& view,
                    const TextStyle& style) {
  std::string text =
      bold(subject_text(comparison.a) + "\n" + subject_text(comparison.b), style) + "\n\n";
  text += compared_where(comparison, view, style) + '\n';
  if (view.layers > 0 && view.by != CompareBy::layer) {
    std::vector<const ComparedRow*> rows = largest_differences(comparison);
    rows.resize(std::min(rows.size(), view.layers));
    text +=
        compared_table(comparison, view, lines_of_rows(rows), "largest differences", false, style) +
        '\n';
  }
  const auto [a_name, b_name] = column_names(comparison, view);
  const std::string alone = only_in(comparison, a_name, true) + only_in(comparison, b_name, false) +
                            added_up_text(comparison, a_name, b_name) +
                            counting_text(comparison, a_name, b_name);
  if (!alone.empty()) text += alone + '\n';
  if (const std::string answer = answer_text(comparison, view); !answer.empty())
    text += answer + '\n';
  text += dim(
      fmt::format("more: --top N  --by {}  {}--threshold X  --json FILE  --csv FILE  --html FILE\n",
                  view.by == CompareBy::type ? "block|pass|layer" : "type|block|pass|layer",
                  comparison.a.expected || comparison.b.expected ? "--times limit  " : ""),
      style);
  return style.has_unicode ? text : to_ascii(text);
}

}  // namespace strata
