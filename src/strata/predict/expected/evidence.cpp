// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/evidence.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/object_reader.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/predict/expected/gpu_rates.hpp"

#include <algorithm>

namespace strata {
namespace {

using EvidenceJson = ObjectReader::Json;

double share_from(ObjectReader& object, const char* key) {
  const double share = object.maybe_not_negative(key).value_or(0);
  if (share > 1)
    fail(ErrorKind::input, "{}: expected a share, got {}", object.place_of(key), share);
  return share;
}

EvidenceEntry entry_from(const EvidenceJson& json, const std::string& place) {
  static constexpr std::string_view passes[] = {"training", "inference", "parallel"};
  ObjectReader object(json, place);
  EvidenceEntry entry;
  entry.machine = object.text("machine");
  entry.framework = object.text("framework");
  entry.pass = static_cast<CheckedPass>(object.choice("passes", passes));
  entry.runs.runs = static_cast<std::int64_t>(object.positive("runs"));
  entry.runs.networks = static_cast<std::int64_t>(object.positive("networks"));
  entry.runs.median_error = share_from(object, "median_error");
  entry.runs.inside = share_from(object, "inside");
  entry.runs.source = object.text("source");
  object.finish();
  return entry;
}

/// Of a machine whose numbers somebody has changed no run is known.
bool is_as_it_ships(const Machine& machine) {
  try {
    return gpu_rates(machine) == gpu_rates(load_recorded_machine(machine.name));
  } catch (const Error&) {
    return false;  // a machine of one's own
  }
}

}  // namespace

std::vector<EvidenceEntry> read_evidence(std::string_view json_text) {
  const EvidenceJson json = EvidenceJson::parse(json_text, nullptr, false);
  if (json.is_discarded()) fail(ErrorKind::input, "not JSON");
  ObjectReader object(json, "evidence");
  if (object.required("strata_evidence") != 1)
    fail(ErrorKind::input, "evidence.strata_evidence: expected 1, the version of the form");
  constexpr std::size_t most = 10'000;
  std::vector<EvidenceEntry> entries = object.list("checked", most, entry_from);
  object.finish();
  return entries;
}

const std::vector<EvidenceEntry>& shipped_evidence() {
  static const auto all = [] {
    std::vector<EvidenceEntry> entries;
    for (const EmbeddedFile& file : embedded_evidence()) {
      std::vector<EvidenceEntry> read = read_evidence(file.text);
      entries.insert(entries.end(), read.begin(), read.end());
    }
    return entries;
  }();
  return all;
}

CheckedRuns checked_runs(const Machine& machine, std::string_view framework, CheckedPass pass) {
  const auto& all = shipped_evidence();
  const auto found = std::find_if(all.begin(), all.end(), [&](const EvidenceEntry& one) {
    return one.machine == machine.name && one.framework == framework && one.pass == pass;
  });
  return found != all.end() && is_as_it_ships(machine) ? found->runs : CheckedRuns{};
}

std::int64_t all_checked_runs(std::string_view machine) {
  std::int64_t runs = 0;
  for (const EvidenceEntry& one : shipped_evidence()) {
    if (one.machine == machine) runs += one.runs.runs;
  }
  return runs;
}

}  // namespace strata
