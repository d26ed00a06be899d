// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/network/network.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/network/document.hpp"
#include "strata/importers/network/reader.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>

namespace strata {

Graph read_network(std::string_view text, std::string_view file_name) {
  const std::filesystem::path path(file_name);
  network::NetworkReader reader(path.stem().string(), path.filename().string());
  bool is_parsed = false;
  try {
    const network::Value root = network::parse(text);
    is_parsed = true;
    return std::move(reader).read(root);
  } catch (Error& error) {
    if (is_parsed) error.add_context(fmt::format("line {}", reader.line()));
    error.add_context(file_name);
    throw;
  }
}

Graph read_network_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 1 << 16> chunk;
  // One byte too many is enough to refuse the file: nothing larger is taken into memory.
  while (file && text.size() <= network::most_json_bytes) {
    file.read(chunk.data(), chunk.size());
    text.append(chunk.data(), static_cast<std::size_t>(file.gcount()));
  }
  const bool has_stopped_early = text.size() <= network::most_json_bytes && !file.eof();
  if (has_stopped_early) fail(ErrorKind::input, "{}: cannot be read", path.string());
  return read_network(text, path.string());
}

}  // namespace strata
