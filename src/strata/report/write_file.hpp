// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace strata {

/// Writes a whole file or leaves what was there: the text goes into a temporary file beside it,
/// which then takes its place. Links are followed; pipes and devices are written to as they are.
/// Errors name the file and the reason.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace strata
