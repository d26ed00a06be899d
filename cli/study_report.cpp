// SPDX-License-Identifier: Apache-2.0
#include "cli/study_report.hpp"

#include "strata/base/csv_cell.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/table.hpp"
#include "strata/reproduce/claim_counts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace strata {
namespace {

using StudyJson = nlohmann::ordered_json;

/// What all rows of a part of the table have in common; empty: they are the study's own.
std::string part_of_table(const Finding& finding) {
  if (finding.sentence.empty()) return "numbers of ours, of which the study says nothing";
  return finding.apart.empty() ? "" : "apart: " + finding.apart;
}

Table empty_table(const StudyResult& study) {
  const bool has_measured = !study.measured.empty();
  std::vector<Column> columns = {
      {.title = "no."},
      {.title = std::string(study.place), .least_width = 12},
      {.title = "what", .least_width = 24},
      {.title = "printed", .align = Align::right},
      {.title = has_measured ? "predicted" : "found", .align = Align::right},
      {.title = "holds"}};
  if (has_measured) {
    columns.push_back({.title = study.measured, .align = Align::right});
    columns.push_back({.title = "holds"});
  }
  columns.push_back({.title = "note", .least_width = 10, .leaves = 1});
  return Table(std::move(columns));
}

std::string table_of(const StudyResult& study, const TextStyle& style) {
  Table table = empty_table(study);
  std::string part;
  std::string_view sentence;
  for (const Finding& finding : study.findings) {
    if (std::string next = part_of_table(finding); next != part) {
      part = std::move(next);
      table.add_heading(part);
      sentence = {};
    }
    if (finding.sentence != sentence) table.add_heading(finding.sentence);
    sentence = finding.sentence;
    std::vector<std::string> cells = {
        finding.observation, finding.network, finding.what,
        finding.printed,     finding.found,   std::string(word_of(verdict_of(finding)))};
    if (!study.measured.empty()) {
      cells.push_back(finding.measured ? finding.measured->found : "");
      cells.emplace_back(word_of(measured_verdict_of(finding)));
    }
    cells.push_back(finding.note);
    table.add_row(std::move(cells));
  }
  return table.to_text(style);
}

/// How many claims and rows there are and what these say: a line for the study, and one for each
/// group of rows that stand apart.
std::string counts_lines(const StudyResult& study) {
  std::string text;
  for (const ClaimCounts& counts : claim_counts(study.findings)) {
    text += counts.apart.empty()
                ? counts.text(study.measured) + '\n'
                : fmt::format("apart, {} ({})\n", counts.text(study.measured), counts.apart);
  }
  return text;
}

void add_overview_row(Table& table, std::string_view name, const StudyResult& study,
                      std::string basis, const Tally& tally) {
  table.add_row({std::string(name), fmt::format("{} ({})", study.title, study.published),
                 std::move(basis), fmt::format("{}", tally.statements()),
                 fmt::format("{}", tally.held), fmt::format("{}", tally.not_held),
                 fmt::format("{}", tally.not_judged)});
}

/// A line per study and per what stands beside it: how many statements hold.
std::string overview(std::span<const StudyReport> all, const TextStyle& style) {
  Table table({{.title = "study"},
               {.title = "published as", .least_width = 24, .leaves = 1},
               {.title = "predicted or measured", .least_width = 16},
               {.title = "statements", .align = Align::right},
               {.title = "hold", .align = Align::right},
               {.title = "do not", .align = Align::right},
               {.title = "cannot\nbe judged", .align = Align::right}});
  for (const StudyReport& study : all) {
    if (!study.result) {
      table.add_row({std::string(study.name), "", study.reason, "–", "–", "–", "–"});
      continue;
    }
    const StudyResult& result = *study.result;
    const ClaimCounts counts = claim_counts(result.findings).front();
    add_overview_row(table, study.name, result, result.basis, counts.rows);
    if (!result.measured.empty())
      add_overview_row(table, study.name, result, fmt::format("measured on {}", result.measured),
                       counts.measured);
  }
  return table.to_text(style);
}

StudyJson counts_json(const ClaimCounts& counts) {
  return {{"claims", counts.claims},
          {"statements", counts.rows.statements()},
          {"printed", counts.rows.held + counts.rows.not_held},
          {"held", counts.rows.held},
          {"not_held", counts.rows.not_held},
          {"not_judged", counts.rows.not_judged}};
}

StudyJson study_json(const StudyReport& study) {
  StudyJson json = {{"name", study.name}};
  if (!study.result) {
    json["reason"] = study.reason;
    return json;
  }
  json["title"] = study.result->title;
  json["published"] = study.result->published;
  json["basis"] = study.result->basis;
  json["place"] = study.result->place;
  json["rule"] = study.result->rule;
  const std::vector<ClaimCounts> all = claim_counts(study.result->findings);
  json.update(counts_json(all.front()));
  if (!study.result->measured.empty()) {
    json["measured_on"] = study.result->measured;
    json["measured_held"] = all.front().measured.held;
    json["measured_not_held"] = all.front().measured.not_held;
    json["measured_not_judged"] = all.front().measured.not_judged;
    json["by_neither"] = all.front().by_neither;
  }
  json["apart"] = StudyJson::array();
  for (const ClaimCounts& counts : std::span(all).subspan(1)) {
    json["apart"].push_back({{"why", counts.apart}});
    json["apart"].back().update(counts_json(counts));
  }
  return json;
}

StudyJson study_finding_json(std::string_view study, const Finding& finding) {
  const NoteParts note = note_parts(finding.note);
  StudyJson json = {{"study", study},
                    {"observation", finding.observation},
                    {"network", finding.network},
                    {"sentence", finding.sentence},
                    {"apart", finding.apart},
                    {"what", finding.what},
                    {"printed", finding.printed},
                    {"found", finding.found},
                    {"is_printed", finding.is_printed},
                    {"holds", finding.holds},
                    {"verdict", name_of(verdict_of(finding))},
                    {"rule", note.rule},
                    {"reason", note.reason},
                    {"note", finding.note}};
  if (finding.measured) {
    const std::optional<bool>& holds = finding.measured->holds;
    json["measured"] = {{"found", finding.measured->found},
                        {"holds", holds ? StudyJson(*holds) : StudyJson()}};
  }
  return json;
}

}  // namespace

std::string to_text(std::span<const StudyReport> all, const TextStyle& style) {
  std::string text = all.size() > 1 ? overview(all, style) : "";
  for (const StudyReport& study : all) {
    if (!text.empty()) text += '\n';
    text += study.result ? fmt::format("{}\n\n{}\n{}holds: {}\n{}", study.result->heading(),
                                       table_of(*study.result, style), counts_lines(*study.result),
                                       study.result->rule, study.result->notes)
                         : fmt::format("{}: {}\n", study.name, study.reason);
  }
  return text;
}

std::string to_json(std::span<const StudyReport> all, const Provenance& provenance) {
  std::vector<std::pair<std::string_view, const Finding*>> findings;
  for (const StudyReport& study : all) {
    if (!study.result) continue;
    for (const Finding& finding : study.result->findings)
      findings.emplace_back(study.name, &finding);
  }
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "reproduction");
  text.add_list("studies", all, study_json);
  text.add_list("findings", findings,
                [](const auto& named) { return study_finding_json(named.first, *named.second); });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

std::string to_csv(std::span<const StudyReport> all) {
  std::string text =
      "study,observation,network,what,printed,found,holds,measured,measured_holds,note,sentence,"
      "apart\n";
  for (const StudyReport& study : all) {
    if (!study.result) continue;
    for (const Finding& finding : study.result->findings)
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", study.name,
                          csv_cell(finding.observation), csv_cell(finding.network),
                          csv_cell(finding.what), csv_cell(finding.printed),
                          csv_cell(finding.found), word_of(verdict_of(finding)),
                          csv_cell(finding.measured ? finding.measured->found : ""),
                          word_of(measured_verdict_of(finding)), csv_cell(finding.note),
                          csv_cell(finding.sentence), csv_cell(finding.apart));
  }
  return text;
}

PageSection page_section(std::span<const StudyReport> all, const Provenance& provenance) {
  PageSection part{.name = all.size() == 1 ? std::string(all.front().name) : "all studies",
                   .document = to_json(all, provenance)};
  StudyJson figures = StudyJson::array();
  for (const StudyReport& study : all) {
    if (!study.result) continue;
    for (const Figure& figure : study.result->figures) {
      std::string svg = chart::to_svg(figure.grid);
      figures.push_back({{"study", study.name},
                         {"name", figure.name},
                         {"title", figure.grid.title},
                         {"csv", figure.csv},
                         {"svg", svg}});
      if (!has_report_page()) part.pictures.push_back(std::move(svg));
    }
  }
  part.extras.emplace_back("figures",
                           figures.dump(-1, ' ', false, StudyJson::error_handler_t::replace));
  return part;
}

}  // namespace strata
