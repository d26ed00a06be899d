// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/system_files.hpp"

#include "strata/base/text.hpp"

#include <charconv>
#include <fstream>

namespace strata::cpu {

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  constexpr std::size_t most_lines = 100'000;  // /proc/cpuinfo has some thirty per processor
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; lines.size() < most_lines && std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

std::optional<std::string> first_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) return std::nullopt;
  const std::string_view text = trimmed(line);
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace strata::cpu
