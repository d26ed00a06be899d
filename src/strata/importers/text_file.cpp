// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/text_file.hpp"

#include "strata/base/error.hpp"

#include <array>
#include <fstream>

namespace strata {

std::string read_text_file(const std::filesystem::path& path, std::size_t most_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ErrorKind::input, "{}: cannot be opened for reading", path.string());
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (file && text.size() <= most_bytes) {
    file.read(chunk.data(), chunk.size());
    text.append(chunk.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (text.size() > most_bytes) {
    fail(ErrorKind::input, "{}: larger than {} bytes, the most that is read of this format",
         path.string(), most_bytes);
  }
  if (!file.eof()) fail(ErrorKind::input, "{}: cannot be read", path.string());
  return text;
}

}  // namespace strata
