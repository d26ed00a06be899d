// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/readiness/readiness.hpp"

#include "strata/base/text.hpp"
#include "strata/version.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace strata {

std::string_view name_of(ReadyState state) {
  constexpr std::string_view names[] = {"ready", "limited", "missing"};
  return names[static_cast<std::size_t>(state)];
}

namespace {

std::string output_of_command(const char* command) {
  std::FILE* const pipe = ::popen(command, "r");
  if (pipe == nullptr) return {};
  std::string output;
  std::array<char, 4096> buffer{};
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), size);
  ::pclose(pipe);
  return output;
}

}  // namespace

ReadinessSources this_computer() {
  return {"/",
          [](const char* name) -> std::string {
            const char* value = std::getenv(name);
            return value == nullptr ? "" : value;
          },
          output_of_command};
}

namespace {

/// A folder of that name where somebody happens to stand is not the package.
constexpr const char* ask_python = R"(python3 -c '
import sys
sys.path = [place for place in sys.path if place]
print(sys.version.split()[0])
try:
    import strata
    print(strata.__version__)
    print(strata.__file__)
except Exception:
    pass
' 2>/dev/null)";

/// Distributions have no packages of these; everything else is one.
bool is_of_nvidia(std::string_view part) {
  return part == "cuda" || part == "cudnn" || part == "cupti";
}

}  // namespace

std::vector<ReadyItem> build_readiness(std::string_view parts) {
  std::vector<ReadyItem> items;
  for (const std::string_view line : split(parts, '\n')) {
    const std::vector<std::string_view> fields = split(line, '\t');
    if (fields.size() != 4) continue;
    ReadyItem item{.area = "build", .name = std::string(fields[0])};
    const bool is_there = fields[1] == "yes";
    item.state = is_there ? ReadyState::ready : ReadyState::missing;
    item.finding = fields[2];
    if (!is_there) {
      item.finding += ": not in this build";
      if (!fields[3].empty()) item.finding += fmt::format("; {}", fields[3]);
      item.remedy = is_of_nvidia(item.name)
                        ? "install it from NVIDIA (docs/building.md) and build again"
                        : "install it (./strata setup --all) and build again";
    }
    items.push_back(std::move(item));
  }
  return items;
}

ReadyItem python_readiness(const ReadinessSources& sources) {
  ReadyItem item{.area = "Python", .name = "import strata"};
  const std::string output = sources.output_of ? sources.output_of(ask_python) : "";
  const std::vector<std::string_view> lines = split(output, '\n');
  const auto line = [&](std::size_t at) { return at < lines.size() ? lines[at] : ""; };
  if (!line(2).empty()) {
    item.finding = fmt::format("version {} in {}, Python {}", line(1), line(2), line(0));
    return item;
  }
  item.state = ReadyState::missing;
  const bool has_python = !line(0).empty();
  item.finding = has_python
                     ? fmt::format("not installed: Python {} finds no package strata", line(0))
                     : "there is no python3 to import it";
  item.remedy =
      fmt::format("{}pip install . in the source tree of Strata (docs/python.md)",
                  has_python ? "" : "install Python 3.9 or newer (apt-get install python3), then ");
  return item;
}

std::vector<ReadyItem> readiness(const ReadinessSources& sources) {
  std::vector<ReadyItem> items = build_readiness(build_parts);
  items.push_back(python_readiness(sources));
  for (auto part : {cpu_readiness, gpu_readiness}) {
    std::vector<ReadyItem> more = part(sources);
    items.insert(items.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  }
  return items;
}

}  // namespace strata
