// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_words.hpp"

#include "cli/machine_at_hand.hpp"
#include "cli/predict_flags.hpp"
#include "strata/base/error.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/report/trace_report.hpp"
#include "strata/zoo/zoo.hpp"

#include <algorithm>
#include <filesystem>

namespace strata {

bool names_network(std::string_view word) {
  return word.find('/') == word.npos && find_network(word.substr(0, word.find(':'))) != nullptr;
}

namespace {

/// A recording as the document that `strata trace --json` writes of it: a profile.
StoredProfile recorded_profile(const std::string& path) {
  std::vector<TraceReport> reports;
  const std::string name = std::filesystem::path(path).filename().string();
  for (const Recording& recording : read_recordings(path))
    reports.push_back(make_trace_report(name, recording, nullptr));
  return {load_recorded_profile(path), to_json(reports, {})};
}

}  // namespace

Profile needed_profile(const std::string& path) {
  return is_recording(path) ? load_recorded_profile(path) : load_profile(path);
}

std::optional<StoredProfile> stored_profile(const std::string& word) {
  if (names_network(word) || !std::filesystem::is_regular_file(word)) return std::nullopt;
  if (is_recording(word)) return recorded_profile(word);
  try {
    std::string text = profile_file_text(word);
    if (!looks_like_profile(text)) return std::nullopt;
    Profile profile = read_profile(text);
    return StoredProfile{std::move(profile), std::move(text)};
  } catch (Error& error) {
    error.add_context(word);
    throw;
  }
}

AskedRoofs asked_roofs(const Arguments& given, const Flag& on) {
  const auto name = given.value(on);
  return {.on = name ? std::optional<std::string>(*name) : std::nullopt,
          .settings = given.values(set_flag)};
}

Machine machine_for(const AskedRoofs& asked, std::string_view own) {
  Machine machine;
  if (asked.on) {
    machine = load_machine(*asked.on);
  } else if (own.empty()) {
    machine = default_machine();
  } else {
    try {
      machine = load_machine(own);
    } catch (Error& error) {
      error.add_context("the machine of the profile (give --on)");
      throw;
    }
  }
  for (const std::string& assignment : asked.settings) set_field(machine, assignment);
  return machine;
}

void refuse_flags_for_profile(const Arguments& given, std::span<const Flag> flags,
                              std::initializer_list<const Flag*> allowed) {
  for (const Flag& flag : flags) {
    const bool is_allowed = std::any_of(allowed.begin(), allowed.end(), [&](const Flag* other) {
      return other->name == flag.name;
    });
    if (is_allowed || !given.has(flag)) continue;
    fail(ErrorKind::usage,
         "--{} is for a model that is predicted; what was given is a profile, which was made with "
         "its own",
         flag.name);
  }
}

}  // namespace strata
