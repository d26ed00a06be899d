// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/report/bar.hpp"
#include "strata/report/explain_report.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <vector>

namespace strata {
namespace {

constexpr std::size_t text_columns = 100;  // where nothing limits the width
constexpr std::size_t least_columns = 40;  // narrower paragraphs cannot be read
constexpr std::size_t indent = 14;

std::string share_change(double share) {
  const double points = 100 * share;
  if (std::fabs(points) < 0.05) return "0 %";
  const std::string_view sign = points < 0 ? "−" : "+";
  const double size = std::fabs(points);
  return size < 9.95 ? fmt::format("{}{:.1f} %", sign, size)
                     : fmt::format("{}{:.0f} %", sign, size);
}

std::string share_percent(double share) {
  return fmt::format("{:.{}f} %", 100 * share, 100 * share < 9.95 ? 1 : 0);
}

std::string shown(const EvidenceNumber& number) {
  switch (number.measure) {
    case Measure::seconds: return format_time(number.value);
    case Measure::bytes: return format_bytes(number.value);
    case Measure::capacity: return format_capacity(number.value);
    case Measure::flop: return format_flop(number.value);
    case Measure::bytes_per_s: return format_bytes_per_s(number.value);
    case Measure::flop_per_s: return format_flop_per_s(number.value);
    case Measure::flop_per_byte: return fmt::format("{:.3g}", number.value);
    case Measure::share: return share_percent(number.value);
    case Measure::ratio: return fmt::format("{:.2f}", number.value);
    case Measure::count: break;
  }
  return format_exact(std::llround(number.value));
}

bool is_unit(std::string_view word) {
  while (!word.empty() && (word.back() == ';' || word.back() == ',' || word.back() == ')'))
    word.remove_suffix(1);
  constexpr std::string_view units[] = {"%", "s", "ms", "µs", "ns", "rows", "steps"};
  return word.ends_with("FLOP") || word.ends_with("B") || word.ends_with("/s") ||
         std::find(std::begin(units), std::end(units), word) != std::end(units);
}

/// Words between which a line may end: a number stays with its unit.
std::vector<std::string> pieces_of(std::string_view body) {
  std::vector<std::string> pieces;
  for (const std::string_view word : split(body, ' ')) {
    const bool follows_number = !pieces.empty() && !pieces.back().empty() &&
                                std::isdigit(static_cast<unsigned char>(pieces.back().back())) != 0;
    if (follows_number && is_unit(word)) {
      pieces.back() += fmt::format(" {}", word);
    } else {
      pieces.emplace_back(word);
    }
  }
  return pieces;
}

/// A paragraph with its name at the left and all its lines in one column.
std::string paragraph(std::string_view name, std::string_view body, const TextStyle& style) {
  const std::size_t columns = std::max(
      least_columns, style.columns == 0 ? text_columns : std::min(style.columns, text_columns));
  std::string text = fmt::format("     {:<{}}", name, indent - 5);
  std::size_t used = indent;
  bool is_first = true;
  for (const std::string& word : pieces_of(body)) {
    const std::size_t width = width_of(word);
    if (!is_first && used + 1 + width > columns) {
      text += '\n' + std::string(indent, ' ');
      used = indent;
      is_first = true;
    }
    text += is_first ? "" : " ";
    text += word;
    used += width + (is_first ? 0 : 1);
    is_first = false;
  }
  return text + '\n';
}

std::string what_if_text(const WhatIf& what_if) {
  const bool is_condition = std::holds_alternative<Computed>(what_if.change);
  const std::string change = printable(text_of(what_if));
  if (!what_if.time_s)
    return fmt::format("{} {}: not known ({})", is_condition ? "if" : "with", change,
                       printable(what_if.reason));
  return fmt::format("{} {}: {} ({})", is_condition ? "if" : "with", change, change_text(what_if),
                     format_time(*what_if.time_s));
}

std::string cost_text(const ProfileFinding& finding, std::string_view whole) {
  if (!kind_of(finding.code).is_about_time) return "";
  const bool is_mean = finding.is_of_recording && whole == "step";
  return fmt::format("{}, {}{} of the {}{}", format_time(finding.cost_s),
                     share_percent(finding.cost_share), finding.is_cost_on_top ? " on top" : "",
                     whole, is_mean ? ", as over all that was recorded" : "");
}

std::string in_full(const ProfileFinding& finding, std::size_t number, std::string_view whole,
                    const TextStyle& style) {
  const FindingKind& kind = kind_of(finding.code);
  const std::string about =
      finding.subject.empty() ? "" : fmt::format("{}: ", printable(finding.subject));
  std::string text = fmt::format(
      "  {}  {}\n", number, bold(fmt::format("{}{} [{}]", about, kind.title, kind.name), style));
  text += paragraph("what", printable(finding.what), style);
  std::string evidence;
  for (const EvidenceNumber& each : finding.evidence)
    evidence +=
        fmt::format("{}{} {}", evidence.empty() ? "" : "; ", printable(each.what), shown(each));
  text += paragraph("evidence", evidence, style);
  if (const std::string cost = cost_text(finding, whole); !cost.empty())
    text += paragraph("costs", cost, style);
  text += paragraph("advice", printable(finding.advice), style);
  std::string_view name = "what if";
  for (const WhatIf& what_if : finding.what_ifs) {
    text += paragraph(name, what_if_text(what_if), style);
    name = "";
  }
  return text + '\n';
}

std::string in_short(const std::vector<ProfileFinding>& findings, std::size_t from,
                     std::string_view title, const TextStyle& style) {
  if (from >= findings.size()) return "";
  Table table({{.title = std::string(title)},
               {.title = "about", .least_width = 10, .omit = Omit::beginning},
               {.title = "", .leaves = 2},
               {.title = "costs", .align = Align::right},
               {.title = "of time", .align = Align::right},
               {.title = "could save", .align = Align::right},
               {.title = "what", .least_width = 20, .leaves = 1}});
  double most_s = 0;
  for (std::size_t i = from; i < findings.size(); ++i)
    most_s = std::max(most_s, findings[i].cost_s);
  for (std::size_t i = from; i < findings.size(); ++i) {
    const ProfileFinding& finding = findings[i];
    const FindingKind& kind = kind_of(finding.code);
    double share = 0;
    for (const WhatIf& what_if : finding.what_ifs) share = std::max(share, what_if.gain_share());
    table.add_row({std::string(kind.name), printable(finding.subject),
                   most_s > 0 ? bar(finding.cost_s / most_s) : "",
                   kind.is_about_time ? format_time(finding.cost_s) : "",
                   kind.is_about_time ? share_percent(finding.cost_share) : "",
                   share > 0 ? share_percent(share) : "", std::string(kind.title)});
  }
  return table.to_text(style) + '\n';
}

/// `samples` of the iteration; 0: not known.
std::string what_if_table(const std::vector<WhatIf>& what_ifs, std::string_view title,
                          double samples, const TextStyle& style) {
  if (what_ifs.empty()) return "";
  const bool has_memory = std::any_of(what_ifs.begin(), what_ifs.end(), [](const WhatIf& what_if) {
    return what_if.memory_bytes.has_value();
  });
  Table table({{.title = std::string(title)},
               {.title = "time", .align = Align::right},
               {.title = "change", .align = Align::right},
               {.title = "samples/s", .align = Align::right, .is_shown = samples > 0},
               {.title = "memory", .align = Align::right, .is_shown = has_memory},
               {.title = "", .least_width = 12, .leaves = 1}});
  for (const WhatIf& what_if : what_ifs) {
    table.add_row(
        {text_of(what_if.change), what_if.time_s ? format_time(*what_if.time_s) : "–",
         what_if.time_s ? change_text(what_if) : "",
         what_if.time_s ? format_count(samples / *what_if.time_s) : "",
         what_if.memory_bytes ? format_capacity(static_cast<double>(*what_if.memory_bytes)) : "",
         what_if.time_s
             ? (what_if.basis == Basis::predicted_again ? "predicted again" : "row by row")
             : printable(what_if.reason)});
  }
  return table.to_text(style) + '\n';
}

/// Those of expected times, or those of the limit beside them.
template <class Item>
std::vector<Item> part_of(const std::vector<Item>& all, bool is_expected) {
  std::vector<Item> part;
  std::copy_if(all.begin(), all.end(), std::back_inserter(part),
               [&](const Item& one) { return one.is_expected == is_expected; });
  return part;
}

/// What its times and shares are of.
std::string_view iteration_word(TimeFrom from) {
  if (from == TimeFrom::step) return "step";
  return from == TimeFrom::recording ? "recording" : "iteration";
}

std::string_view time_words(TimeFrom from) {
  if (from == TimeFrom::step) return "a step";
  return from == TimeFrom::recording ? "from the first kernel to the last" : "an iteration";
}

std::string heading(const Explanation& explanation) {
  const ProfileSubject& subject = explanation.subject;
  const std::string name = subject.title.empty() ? "a profile" : printable(subject.title);
  const auto& expected = explanation.expected;
  const std::string machine = printable(explanation.machine_title);
  return fmt::format(
      "{}{}{}, {}{}{}{}{}: {} {}", name, subject.dtype.empty() ? "" : ", ",
      printable(subject.setup_or_dtype()),
      expected ? printable(expected->framework) : std::string(name_of(explanation.evidence)),
      machine.empty() ? "" : ", on ", machine, explanation.strategy.empty() ? "" : ", ",
      explanation.strategy, format_time(explanation.time_s), time_words(explanation.time_from));
}

/// What the time is, what it is lost to, and the limit beside it.
std::string expected_head(const Explanation& explanation, const TextStyle& style) {
  const ExpectedIteration& expected = *explanation.expected;
  return paragraph(
             "expected",
             fmt::format("{} ({} to {}), {} samples/s, {} {}", format_time(expected.time_s),
                         format_time(expected.low_s), format_time(expected.high_s),
                         format_count(expected.samples_per_s), busy_title(explanation.machine_kind),
                         share_percent(expected.busy_s / expected.time_s)),
             style) +
         paragraph("lost to", lost_text(expected), style) +
         paragraph("limit",
                   fmt::format("{} with perfect kernels", format_time(*explanation.limit_s)),
                   style) +
         '\n';
}

std::string memory_head(const MemoryNeed& memory, const TextStyle& style) {
  return bold(out_of_memory_text(memory), style) + '\n' +
         (memory.changes.empty() ? "" : memory_changes_text(memory) + '\n') + '\n';
}

/// Findings and what-ifs of the expected time, then those of the limit.
std::string expected_body(const Explanation& explanation, std::size_t top, const TextStyle& style) {
  const auto findings = part_of(explanation.findings, true);
  const auto of_limit = part_of(explanation.findings, false);
  std::string text = findings_text(findings, top, "iteration", style);
  text += what_if_table(part_of(explanation.what_ifs, true), "the iteration with",
                        explanation.expected->samples(), style);
  const std::size_t full = std::min(top - std::min(top, findings.size()), of_limit.size());
  for (std::size_t i = 0; i < full; ++i)
    text += in_full(of_limit[i], findings.size() + i + 1, "limit", style);
  text += in_short(of_limit, full, "of the limit", style);
  return text + what_if_table(part_of(explanation.what_ifs, false), "the limit with", 0, style);
}

}  // namespace

std::string lost_text(const ExpectedIteration& expected) {
  std::vector<std::string> lost;
  for (const LostShare& one : expected.lost_to) {
    if (one.time_s >= 0.01 * expected.time_s)
      lost.push_back(
          fmt::format("{} {:.0f} %", printable(one.to), 100 * one.time_s / expected.time_s));
  }
  return fmt::format("{}", fmt::join(lost, ", "));
}

std::string change_text(const WhatIf& what_if) { return share_change(-what_if.gain_share()); }

std::string findings_text(const std::vector<ProfileFinding>& findings, std::size_t top,
                          std::string_view whole, const TextStyle& style) {
  if (findings.empty()) return "  nothing stands out\n\n";
  const std::size_t full = std::min(top, findings.size());
  std::string text;
  for (std::size_t i = 0; i < full; ++i) text += in_full(findings[i], i + 1, whole, style);
  return text + in_short(findings, full, "also", style);
}

std::string to_text(const Explanation& explanation, std::size_t top, const TextStyle& style) {
  std::string text = bold(heading(explanation), style) + "\n\n";
  if (explanation.memory && !explanation.memory->fits())
    text += memory_head(*explanation.memory, style);
  if (explanation.expected) {
    text += expected_head(explanation, style) + expected_body(explanation, top, style);
  } else {
    const std::string_view whole = iteration_word(explanation.time_from);
    text += findings_text(explanation.findings, top, whole, style);
    text += what_if_table(explanation.what_ifs, fmt::format("the whole {} with", whole), 0, style);
  }
  if (!explanation.reuse.empty()) {
    std::string_view label = "reuse";
    for (const ReuseExplanation& reuse : explanation.reuse) {
      text += paragraph(label, printable(reuse.text), style);
      label = "";
    }
    text += '\n';
  }
  for (const std::string& note : explanation.notes)
    text += fmt::format("note: {}\n", printable(note));
  text +=
      dim("what each code means: docs/findings/\nmore: --top N|all  --json FILE  --csv FILE  "
          "--html FILE\n",
          style);
  return style.has_unicode ? text : to_ascii(text);
}

}  // namespace strata
