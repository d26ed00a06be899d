// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/readiness/readiness.hpp"

#include "strata/base/text.hpp"
#include "strata/version.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <iterator>

namespace strata {

std::string_view name_of(ReadyState state) {
  constexpr std::string_view names[] = {"ready", "limited", "missing"};
  return names[static_cast<std::size_t>(state)];
}

ReadinessSources this_computer() {
  return {"/", [](const char* name) -> std::string {
            const char* value = std::getenv(name);
            return value == nullptr ? "" : value;
          }};
}

namespace {

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

std::vector<ReadyItem> readiness(const ReadinessSources& sources) {
  std::vector<ReadyItem> items = build_readiness(build_parts);
  for (auto part : {cpu_readiness, gpu_readiness}) {
    std::vector<ReadyItem> more = part(sources);
    items.insert(items.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  }
  return items;
}

}  // namespace strata
