// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/profile.hpp"

#include <filesystem>
#include <string>
#include <string_view>

/// A Profile from the JSON that a command wrote with --json. docs/profile-format.md has the keys.
namespace strata {

/// Whether the text is meant as a profile, rather than as a network: good enough to choose who
/// reads it and complains.
bool looks_like_profile(std::string_view text);

/// Errors (input) name the field, what was expected and what came. A column that no row has is not
/// an error here: ProfileColumns says so, and whoever needs it complains.
Profile read_profile(std::string_view json_text);

/// Of a file; errors name it.
Profile load_profile(const std::filesystem::path& path);

/// What a file holds, up to what a profile may be; errors (input) say why there is nothing to read.
std::string profile_file_text(const std::filesystem::path& path);

}  // namespace strata
