// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace strata {

/// Which file something was made of, so that it is found again or asked for by its content.
struct FileIdentity {
  std::string path;  ///< absolute
  std::int64_t bytes = 0;
  std::string hash;  ///< of its first 64 MiB: FNV-1a, 64 bits, 16 hexadecimal digits

  bool has_content_of(const FileIdentity& other) const {
    return bytes == other.bytes && hash == other.hash;
  }
};

/// Nothing when there is no such file, or it cannot be read.
std::optional<FileIdentity> file_identity(const std::filesystem::path& path);

/// The file with that content: where the word says, else where it was. Errors (input) say which
/// file with which hash is missing, or that it has changed.
std::string found_again(const std::string& word, const FileIdentity& file);

}  // namespace strata
