// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"
#include "strata/report/explain_report.hpp"
#include "strata/report/json_host.hpp"
#include "strata/report/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

using ExplainJson = nlohmann::ordered_json;

constexpr int explanation_schema_version = 1;

ExplainJson what_if_json(const WhatIf& what_if) {
  ExplainJson json = {
      {"change", text_of(what_if)},
      {"by", name_of(changed_by(what_if))},
      {"is_expected", what_if.is_expected},
      {"basis", name_of(what_if.basis)},
      {"base_time_s", what_if.base_s},
      {"time_s", what_if.time_s ? ExplainJson(*what_if.time_s) : ExplainJson()},
      {"gain_s", what_if.time_s ? ExplainJson(what_if.gain_s()) : ExplainJson()},
      {"gain_share", what_if.time_s ? ExplainJson(what_if.gain_share()) : ExplainJson()},
      {"no_time_reason", what_if.time_s ? ExplainJson() : ExplainJson(what_if.reason)}};
  if (what_if.memory_bytes) json["memory_bytes"] = *what_if.memory_bytes;
  return json;
}

ExplainJson expected_iteration_json(const std::optional<ExpectedIteration>& expected) {
  if (!expected) return nullptr;
  ExplainJson lost = ExplainJson::array();
  for (const LostShare& one : expected->lost_to)
    lost.push_back({{"to", one.to}, {"time_s", one.time_s}});
  return {{"framework", expected->framework},
          {"time_s", expected->time_s},
          {"interval_s", {expected->low_s, expected->high_s}},
          {"samples_per_s", expected->samples_per_s},
          {"busy_s", expected->busy_s},
          {"host_s", expected->host_s},
          {"launches", expected->launches > 0 ? ExplainJson(expected->launches) : ExplainJson()},
          {"calibration", expected->calibration},
          {"calibrated_on", expected->calibrated_on},
          {"evidence", evidence_json(expected->checked)},
          {"host", dispatch_host_json(expected->host)},
          {"arithmetic_s", expected->arithmetic_s},
          {"lost_to", std::move(lost)}};
}

ExplainJson memory_need_json(const std::optional<MemoryNeed>& memory) {
  if (!memory) return nullptr;
  ExplainJson changes = ExplainJson::array();
  for (const MemoryChange& one : memory->changes)
    changes.push_back(
        {{"change", one.change}, {"memory_bytes", one.needed_bytes}, {"fits", one.fits}});
  return {{"needed_bytes", memory->needed_bytes},
          {"device_bytes", count_json(memory->device_bytes)},
          {"fits", memory->fits()},
          {"largest_batch",
           memory->largest_batch ? ExplainJson(*memory->largest_batch) : ExplainJson()},
          {"changes", std::move(changes)}};
}

ExplainJson reuse_json(const ReuseExplanation& reuse) {
  const ReuseFacts& facts = reuse.facts;
  return {{"scope", facts.scope},
          {"text", reuse.text},
          {"offered_bytes", facts.offered_bytes},
          {"captured_bytes", facts.captured_bytes},
          {"capacity_50_bytes", facts.capacity_50_bytes},
          {"capacity_90_bytes", facts.capacity_90_bytes},
          {"capacity_100_bytes", facts.capacity_100_bytes}};
}

}  // namespace

ExplainJson finding_json(const ProfileFinding& finding) {
  const FindingKind& kind = kind_of(finding.code);
  ExplainJson evidence = ExplainJson::array();
  for (const EvidenceNumber& number : finding.evidence) {
    const bool is_whole =
        number.measure == Measure::count && std::floor(number.value) == number.value;
    evidence.push_back({{"what", number.what},
                        {"value", is_whole ? count_json(number.value) : ExplainJson(number.value)},
                        {"measure", name_of(number.measure)}});
  }
  ExplainJson what_ifs = ExplainJson::array();
  for (const WhatIf& what_if : finding.what_ifs) what_ifs.push_back(what_if_json(what_if));
  return {{"code", kind.name},
          {"is_expected", finding.is_expected},
          {"title", kind.title},
          {"page", fmt::format("docs/findings/{}.md", kind.name)},
          {"subject", finding.subject},
          {"what", finding.what},
          {"evidence", std::move(evidence)},
          {"cost_s", finding.cost_s},
          {"cost_share", finding.cost_share},
          {"is_of_recording", finding.is_of_recording},
          {"is_cost_on_top", finding.is_cost_on_top},
          {"gain_s", finding.gain_s()},
          {"advice", finding.advice},
          {"what_ifs", std::move(what_ifs)}};
}

std::string to_json(const Explanation& explanation, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", explanation_schema_version);
  text.add("kind", "explanation");
  text.add("evidence", name_of(explanation.evidence));
  ExplainJson model = {{"name", explanation.subject.network},
                       {"title", explanation.subject.title},
                       {"dtype", explanation.subject.dtype}};
  if (!explanation.subject.setup.empty()) model["setup"] = explanation.subject.setup;
  text.add("model", model);
  text.add("machine", {{"name", explanation.machine}, {"title", explanation.machine_title}});
  if (!explanation.strategy.empty()) text.add("strategy", explanation.strategy);
  text.add("time_s", explanation.time_s);
  text.add("time_from",
           name_of(explanation.expected ? TimeFrom::framework : explanation.time_from));
  text.add("expected", expected_iteration_json(explanation.expected));
  text.add("limit_time_s", explanation.limit_s ? ExplainJson(*explanation.limit_s) : ExplainJson());
  text.add("memory", memory_need_json(explanation.memory));
  text.add_list("findings", explanation.findings, finding_json);
  text.add_list("what_ifs", explanation.what_ifs, what_if_json);
  text.add_list("reuse", explanation.reuse, reuse_json);
  text.add_list("notes", explanation.notes,
                [](const std::string& note) { return ExplainJson(note); });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

std::string to_csv(const Explanation& explanation) {
  std::string text =
      "code,subject,what,cost_s,cost_share,is_cost_on_top,gain_s,best_change,advice\n";
  for (const ProfileFinding& finding : explanation.findings) {
    const auto best = std::max_element(
        finding.what_ifs.begin(), finding.what_ifs.end(),
        [](const WhatIf& one, const WhatIf& other) { return one.gain_s() < other.gain_s(); });
    const bool has_best = best != finding.what_ifs.end() && best->gain_s() > 0;
    text += fmt::format("{},{},{},{},{},{},{},{},{}\n", kind_of(finding.code).name,
                        csv_cell(finding.subject), csv_cell(finding.what), finding.cost_s,
                        finding.cost_share, finding.is_cost_on_top, finding.gain_s(),
                        has_best ? csv_cell(text_of(best->change)) : "", csv_cell(finding.advice));
  }
  return text;
}

}  // namespace strata
