// SPDX-License-Identifier: Apache-2.0
#include "strata/api/stored_profile.hpp"

#include "strata/api/user_changes.hpp"
#include "strata/api/what_if.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/explain/read_findings.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/report/trace_report.hpp"
#include "strata/reproduce/measured_sweeps.hpp"
#include "strata/zoo/zoo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace strata {

bool names_network(std::string_view word) {
  return word.find('/') == word.npos && find_network(word.substr(0, word.find(':'))) != nullptr;
}

namespace {

/// A recording as the document that `strata trace --json` writes of it: a profile, of the process
/// with the most kernel time.
StoredProfile recorded_profile(const std::string& path) {
  const std::filesystem::path file(path);
  std::vector<TraceReport> reports;
  for (const Recording& recording : read_recordings(file))
    reports.push_back(make_trace_report(file.filename().string(), recording, nullptr));
  const auto longest = std::max_element(
      reports.begin(), reports.end(), [](const TraceReport& a, const TraceReport& b) {
        return a.tables.kernels.total_ns < b.tables.kernels.total_ns;
      });
  if (longest == reports.end() || !longest->profile)
    fail(ErrorKind::input, "{}: no kernel is recorded, so there is no profile of a device", path);
  Profile profile = *longest->profile;
  profile.subject.network = profile.subject.title = printable(file.stem().string());
  return {std::move(profile), to_json(reports, {})};
}

/// Whose machine cannot be told: a recording, or a measurement on a device that nobody described.
bool lacks_machine(const Profile& profile) {
  return profile.evidence == Evidence::measured && profile.subject.machine.empty();
}

/// The machine with the rates that a stored prediction was made with, where others were asked for
/// instead of its own: its rows lie under those. Rows without `arithmetic` had one rate for all.
Machine with_rates_of(Machine machine, const Profile& profile) {
  if (!profile.predicted_rates) return machine;
  const PredictedRates& rates = *profile.predicted_rates;
  HardwareOverrides overrides;
  const MemoryLevel* const outer = machine.memory.empty() ? nullptr : &machine.memory.back();
  if (outer != nullptr && outer->bandwidth_bytes_per_s &&
      outer->bandwidth_bytes_per_s->value != rates.bytes_per_s)
    overrides.bytes_per_s = rates.bytes_per_s;
  for (const ProfileRow& row : profile.rows) {
    if (row.totals.flop == 0) continue;
    if (row.arithmetic.empty()) {
      overrides.flop_per_s = rates.dense_flop_per_s;
      break;
    }
    const TypedFlop& part = row.arithmetic.front();
    for (Peak& peak : machine.peaks) {
      const bool is_its = peak.dtype == part.dtype &&
                          (peak.unit == ComputeUnit::matrix) == part.is_matrix &&
                          row.arithmetic.size() == 1;
      if (is_its)
        peak.flop_per_s.value = is_dense(row) ? rates.dense_flop_per_s : rates.other_flop_per_s;
    }
  }
  return with_overrides(std::move(machine), overrides);
}

std::string missing_machine(const Profile& profile) {
  const std::string& device = profile.subject.machine_title;
  return device.empty() ? "the profile does not say on which device it was measured"
                        : fmt::format("no machine is known for '{}', on which it was measured",
                                      printable(device));
}

}  // namespace

Profile needed_profile(const std::string& path) {
  return is_recording(path) ? recorded_profile(path).profile : load_profile(path);
}

std::optional<StoredProfile> stored_profile(const std::string& word) {
  if (names_network(word) || !std::filesystem::is_regular_file(word)) return std::nullopt;
  if (is_recording(word)) return recorded_profile(word);
  try {
    std::string text = profile_file_text(word);
    if (!looks_like_profile(text)) return std::nullopt;
    if (looks_like_measured_sweeps(text)) {
      fail(ErrorKind::input,
           "measured sweeps of the time-based roofline, not a profile: show them with `strata "
           "reproduce roofline --from {} --out figures`",
           word);
    }
    Profile profile = read_profile(text);
    return StoredProfile{std::move(profile), std::move(text)};
  } catch (Error& error) {
    error.add_context(word);
    throw;
  }
}

Machine machine_for(const AskedRoofs& asked, std::string_view own) {
  Machine machine;
  if (asked.on) {
    machine = load_machine(*asked.on);
  } else if (own.empty()) {
    machine = asked.otherwise ? asked.otherwise() : load_machine("h100-sxm");
  } else {
    try {
      machine = load_recorded_machine(own);
    } catch (Error& error) {
      error.add_context("the machine of the profile (give --on)");
      throw;
    }
  }
  for (const std::string& assignment : asked.settings) set_field(machine, assignment);
  return machine;
}

Machine machine_for(const AskedRoofs& asked, const Profile& profile) {
  if (lacks_machine(profile) && !asked.on) {
    fail(
        ErrorKind::input,
        "{}: name the machine with --on NAME (strata machine list) or --on FILE.json; strata trace "
        "and strata explain show what needs none",
        missing_machine(profile));
  }
  Machine machine = machine_for(asked, profile.subject.machine);
  if (asked.on || !asked.settings.empty()) return machine;
  return with_rates_of(std::move(machine), profile);
}

ExplainedProfile explain_stored(const StoredProfile& stored, const AskedRoofs& asked) {
  const std::string& own = stored.profile.subject.machine;
  const auto recorded = recorded_prediction(stored.text);
  const bool has_own_roofs = (!asked.on || *asked.on == own) && asked.settings.empty();
  ExplainedProfile made;
  if (recorded && has_own_roofs) {
    RecordedTimes times{.limit_s = iteration_of(stored.profile).time_s};
    if (const auto& expected = stored.profile.expected) times.expected_s = expected->time_s;
    made.again = recorded_request(*recorded, times);
  } else if (recorded) {
    made.again.reason = "--on or --set asks for other roofs than its own";
  }
  const RecordedRequest* again = made.again.request.get();
  if (again != nullptr) {
    made.machine = with_overrides(again->machine, again->request.hardware);
  } else if (asked.on || !asked.settings.empty() || !lacks_machine(stored.profile)) {
    made.machine = machine_for(asked, stored.profile);
  }
  Machine nobody;  // without peaks: rules that need them find nothing
  nobody.title = stored.profile.subject.machine_title;
  ExplainInput input{.profile = stored.profile,
                     .machine = made.machine ? *made.machine : nobody,
                     .facts = recorded ? &recorded->facts : nullptr,
                     .predict_again = {},
                     .expect_again = {},
                     .changes = {},
                     .no_prediction_reason = made.again.reason};
  if (again != nullptr) {
    input.predict_again =
        predict_again(again->graph, again->machine, again->request, again->hardware);
    if (stored.profile.expected) {
      input.expect_again = expect_again(again->graph, again->machine, again->request);
      input.changes = user_changes(bind_model(again->graph, again->request.sizes), again->machine,
                                   again->request, recorded->facts.memory);
    }
  }
  const auto recorded_first = recorded_findings(stored.text);
  if (recorded_first) input.recorded = &*recorded_first;
  made.explanation = explain(input);
  if (!made.machine)
    made.explanation.notes.push_back(without_machine_text(missing_machine(stored.profile)));
  return made;
}

}  // namespace strata
