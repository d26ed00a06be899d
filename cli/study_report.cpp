// SPDX-License-Identifier: Apache-2.0
#include "cli/study_report.hpp"

#include "strata/report/csv_cell.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace strata {
namespace {

using StudyJson = nlohmann::ordered_json;

std::string_view verdict_word(const std::optional<bool>& holds) {
  return !holds ? "" : *holds ? "yes" : "no";
}

std::optional<bool> verdict_of(const Finding& finding) {
  return finding.is_printed ? std::optional(finding.holds) : std::nullopt;
}

std::optional<bool> measured_verdict(const Finding& finding) {
  return finding.measured ? finding.measured->holds : std::nullopt;
}

std::string table_of(const StudyResult& study, const TextStyle& style) {
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
  Table table(std::move(columns));
  for (const Finding& finding : study.findings) {
    std::vector<std::string> cells = {
        finding.observation, finding.network, finding.what,
        finding.printed,     finding.found,   std::string(verdict_word(verdict_of(finding)))};
    if (has_measured) {
      cells.push_back(finding.measured ? finding.measured->found : "");
      cells.emplace_back(verdict_word(measured_verdict(finding)));
    }
    cells.push_back(finding.note);
    table.add_row(std::move(cells));
  }
  return table.to_text(style);
}

/// "9 of 12 hold as predicted, 8 of 9 as measured on NVIDIA H200".
std::string held_words(const StudyResult& study) {
  std::string held = fmt::format("{} of {} hold", study.held(), study.printed());
  if (study.measured.empty()) return held;
  std::size_t claims = 0;
  std::size_t seen = 0;
  for (const Finding& finding : study.findings) {
    const std::optional<bool> holds = measured_verdict(finding);
    claims += holds.has_value();
    seen += holds.value_or(false);
  }
  return fmt::format("{} as predicted, {} of {} as measured on {}", held, seen, claims,
                     study.measured);
}

StudyJson study_json(const StudyReport& study) {
  StudyJson json = {{"name", study.name}};
  if (!study.result) {
    json["reason"] = study.reason;
    return json;
  }
  json["title"] = study.result->title;
  json["place"] = study.result->place;
  json["rule"] = study.result->rule;
  json["printed"] = study.result->printed();
  json["held"] = study.result->held();
  if (!study.result->measured.empty()) json["measured_on"] = study.result->measured;
  return json;
}

StudyJson study_finding_json(std::string_view study, const Finding& finding) {
  StudyJson json = {{"study", study},
                    {"observation", finding.observation},
                    {"network", finding.network},
                    {"what", finding.what},
                    {"printed", finding.printed},
                    {"found", finding.found},
                    {"is_printed", finding.is_printed},
                    {"holds", finding.holds},
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
  std::string text;
  for (const StudyReport& study : all) {
    if (!text.empty()) text += '\n';
    text += study.result ? fmt::format("{}\n\n{}\n{}: {}\n{}", study.result->title,
                                       table_of(*study.result, style), held_words(*study.result),
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
      "study,observation,network,what,printed,found,holds,measured,measured_holds,note\n";
  for (const StudyReport& study : all) {
    if (!study.result) continue;
    for (const Finding& finding : study.result->findings)
      text +=
          fmt::format("{},{},{},{},{},{},{},{},{},{}\n", study.name, csv_cell(finding.observation),
                      csv_cell(finding.network), csv_cell(finding.what), csv_cell(finding.printed),
                      csv_cell(finding.found), verdict_word(verdict_of(finding)),
                      csv_cell(finding.measured ? finding.measured->found : ""),
                      verdict_word(measured_verdict(finding)), csv_cell(finding.note));
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
