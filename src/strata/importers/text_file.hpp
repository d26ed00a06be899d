// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace strata {

/// The whole text of a file of at most `most_bytes`; nothing larger is taken into memory. Errors
/// (input) name the file.
std::string read_text_file(const std::filesystem::path& path, std::size_t most_bytes);

}  // namespace strata
