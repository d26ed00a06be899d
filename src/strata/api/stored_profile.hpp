// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/explain.hpp"
#include "strata/api/request.hpp"
#include "strata/profile/profile.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Profiles from files: what predict and measure wrote, and recordings of other programs.
namespace strata {

struct StoredProfile {
  Profile profile;
  std::string text;  ///< the document, for what is in it besides
};

/// The profile in that file, or of the recording in it (strata capture, PyTorch, Nsight); nothing
/// when the word names a network. Errors name the file.
std::optional<StoredProfile> stored_profile(const std::string& word);

/// The profile that a file must hold, either way. Errors name the file.
Profile needed_profile(const std::string& path);

/// Whether the word names a network that is built in.
bool names_network(std::string_view word);

/// Whose roofs somebody asked for: a machine by its name, and numbers of it that are set.
struct AskedRoofs {
  std::optional<std::string> on = {};
  std::vector<std::string> settings = {};
  /// The machine of a prediction where neither this nor the profile names one; an H100 where it is
  /// not set.
  std::function<Machine()> otherwise = {};

  bool is_empty() const { return !on && settings.empty(); }
};

/// The machine that was asked for, else the one that the profile names (`own`), else `otherwise`;
/// with what was set.
Machine machine_for(const AskedRoofs& asked, std::string_view own);

/// The same for a profile; the roofs of a stored prediction are the rates that it was made with,
/// also where others were asked for than the machine's. What was measured on a device that no
/// machine is known of has no roofs: nothing is guessed. Errors (input) say how to name one.
Machine machine_for(const AskedRoofs& asked, const Profile& profile);

struct ExplainedProfile {
  std::optional<Machine> machine;  ///< whose roofs; nothing: the recording's GPU is not known
  Explanation explanation;
  MaybeRequest again;  ///< a prediction under its own roofs is made again for what-ifs
};

/// Errors: those of machine_for and of explain.
ExplainedProfile explain_stored(const StoredProfile& stored, const AskedRoofs& asked);

}  // namespace strata
