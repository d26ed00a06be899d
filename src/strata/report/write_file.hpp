// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace strata {

/// Writes a whole file or leaves what was there, as base/output_file.hpp does.
/// Errors name the file and the reason.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace strata
