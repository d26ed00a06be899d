// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/read_findings.hpp"

#include "strata/base/object_reader.hpp"
#include "strata/base/printable.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace strata {
namespace {

using FindingJson = ObjectReader::Json;

constexpr std::size_t most_processes = 100'000;
constexpr std::size_t most_findings = 1000;
constexpr std::size_t most_numbers = 1000;

constexpr std::array all_measures = {
    Measure::seconds,     Measure::bytes,      Measure::capacity,      Measure::flop,
    Measure::bytes_per_s, Measure::flop_per_s, Measure::flop_per_byte, Measure::share,
    Measure::ratio,       Measure::count};

std::string words_of(ObjectReader& object, const char* key) { return printable(object.text(key)); }

double number_in(ObjectReader& object, const char* key) {
  return not_negative_number(object.required(key), object.place_of(key));
}

EvidenceNumber evidence_number(const FindingJson& json, const std::string& place) {
  ObjectReader object(json, place);
  EvidenceNumber number{.what = words_of(object, "what"), .value = number_in(object, "value")};
  const std::string measure = object.text("measure");
  for (const Measure one : all_measures)
    if (name_of(one) == measure) number.measure = one;
  return number;
}

std::optional<ProfileFinding> finding_of(const FindingJson& json, const std::string& place) {
  ObjectReader object(json, place);
  const std::string code = object.text("code");
  const auto kinds = finding_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const FindingKind& one) { return one.name == code; });
  if (kind == kinds.end()) return std::nullopt;
  ProfileFinding finding;
  finding.code = kind->code;
  finding.subject = words_of(object, "subject");
  finding.what = words_of(object, "what");
  finding.evidence = object.list("evidence", most_numbers, evidence_number);
  finding.cost_s = number_in(object, "cost_s");
  finding.cost_share = number_in(object, "cost_share");
  finding.is_of_recording = true;
  finding.advice = words_of(object, "advice");
  return finding;
}

struct FoundInProcess {
  double kernels_s = 0;
  std::vector<std::optional<ProfileFinding>> findings;
};

FoundInProcess found_in(const FindingJson& json, const std::string& place) {
  ObjectReader object(json, place);
  return {number_in(object, "kernel_time_s"), object.list("findings", most_findings, finding_of)};
}

}  // namespace

std::optional<std::vector<ProfileFinding>> recorded_findings(std::string_view json_text) {
  const FindingJson json = FindingJson::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("kind", FindingJson()) != "trace") return std::nullopt;
  ObjectReader document(json, "profile");
  const auto processes = document.list("processes", most_processes, found_in);
  const auto longest = std::max_element(
      processes.begin(), processes.end(),
      [](const FoundInProcess& a, const FoundInProcess& b) { return a.kernels_s < b.kernels_s; });
  if (longest == processes.end()) return std::nullopt;
  std::vector<ProfileFinding> findings;
  for (const auto& finding : longest->findings)
    if (finding) findings.push_back(*finding);
  return findings;
}

}  // namespace strata
