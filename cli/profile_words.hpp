// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/machine/machine.hpp"
#include "strata/profile/profile.hpp"

#include <initializer_list>
#include <optional>
#include <span>
#include <string>

/// What commands share that take a profile, or a model to be predicted in its place.
namespace strata {

struct StoredProfile {
  Profile profile;
  std::string text;  ///< the file, for what is in it besides
};

/// The profile in that file, or of the recording in it (strata capture, PyTorch, Nsight); nothing
/// when the word names a network. Errors name the file.
std::optional<StoredProfile> stored_profile(const std::string& word);

/// The profile that a file must hold, either way. Errors name the file.
Profile needed_profile(const std::string& path);

/// Whether the word names a network that is built in.
bool names_network(std::string_view word);

/// What --on names, else the machine of the profile, else the one at hand; with what --set changes.
Machine machine_for(const Arguments& given, const Flag& on, const Profile& profile);

/// Flags that only a prediction can follow: an error (usage) names the first that was given and is
/// not among `allowed`.
void refuse_flags_for_profile(const Arguments& given, std::span<const Flag> flags,
                              std::initializer_list<const Flag*> allowed);

}  // namespace strata
