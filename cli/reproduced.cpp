// SPDX-License-Identifier: Apache-2.0
#include "cli/reproduced.hpp"

#include "strata/report/csv_cell.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>
#include <vector>

namespace strata {
namespace {

using StudyJson = nlohmann::ordered_json;

std::string_view verdict_of(const Finding& finding) {
  if (!finding.is_printed) return "";
  return finding.holds ? "yes" : "no";
}

std::string table_of(const StudyResult& study, const TextStyle& style) {
  Table table({{.title = "no."},
               {.title = std::string(study.place), .least_width = 12},
               {.title = "what", .least_width = 24},
               {.title = "printed", .align = Align::right},
               {.title = "found", .align = Align::right},
               {.title = "holds"},
               {.title = "note", .least_width = 10, .leaves = 1}});
  for (const Finding& finding : study.findings) {
    table.add_row({finding.observation, finding.network, finding.what, finding.printed,
                   finding.found, std::string(verdict_of(finding)), finding.note});
  }
  return table.to_text(style);
}

StudyJson study_json(const Reproduced& study) {
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
  return json;
}

StudyJson study_finding_json(std::string_view study, const Finding& finding) {
  return {{"study", study},
          {"observation", finding.observation},
          {"network", finding.network},
          {"what", finding.what},
          {"printed", finding.printed},
          {"found", finding.found},
          {"is_printed", finding.is_printed},
          {"holds", finding.holds},
          {"note", finding.note}};
}

}  // namespace

std::string to_text(std::span<const Reproduced> all, const TextStyle& style) {
  std::string text;
  for (const Reproduced& study : all) {
    if (!text.empty()) text += '\n';
    text += study.result ? fmt::format("{}\n\n{}\n{} of {} hold: {}\n", study.result->title,
                                       table_of(*study.result, style), study.result->held(),
                                       study.result->printed(), study.result->rule)
                         : fmt::format("{}: {}\n", study.name, study.reason);
  }
  return text;
}

std::string to_json(std::span<const Reproduced> all, const Provenance& provenance) {
  std::vector<std::pair<std::string_view, const Finding*>> findings;
  for (const Reproduced& study : all) {
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

std::string to_csv(std::span<const Reproduced> all) {
  std::string text = "study,observation,network,what,printed,found,holds,note\n";
  for (const Reproduced& study : all) {
    if (!study.result) continue;
    for (const Finding& finding : study.result->findings)
      text +=
          fmt::format("{},{},{},{},{},{},{},{}\n", study.name, csv_cell(finding.observation),
                      csv_cell(finding.network), csv_cell(finding.what), csv_cell(finding.printed),
                      csv_cell(finding.found), verdict_of(finding), csv_cell(finding.note));
  }
  return text;
}

HtmlPart page_part(std::span<const Reproduced> all, const Provenance& provenance) {
  HtmlPart part{.name = all.size() == 1 ? std::string(all.front().name) : "all studies",
                .document = to_json(all, provenance)};
  StudyJson figures = StudyJson::array();
  for (const Reproduced& study : all) {
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
