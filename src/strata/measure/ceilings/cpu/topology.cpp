// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/topology.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/cpu/system_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace strata::cpu {
namespace {

namespace fs = std::filesystem;

constexpr int most_processors = 1 << 16;

std::optional<int> processor_number(std::string_view text) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < 0 || number >= most_processors) return std::nullopt;
  return number;
}

/// "48K", "2048K", "105M".
std::optional<std::int64_t> cache_bytes(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t unit = 1;
  if (text.back() == 'K') unit = std::int64_t{1} << 10;
  if (text.back() == 'M') unit = std::int64_t{1} << 20;
  if (unit > 1) text.remove_suffix(1);
  const auto number = whole_number(text);
  if (!number || *number < 1 || *number > (std::int64_t{1} << 40) / unit) return std::nullopt;
  return *number * unit;
}

std::vector<int> those_allowed(const std::vector<int>& processors, std::span<const int> allowed) {
  std::vector<int> both;
  for (const int processor : processors) {
    if (std::find(allowed.begin(), allowed.end(), processor) != allowed.end())
      both.push_back(processor);
  }
  return both;
}

std::vector<int> list_in(const fs::path& file) {
  return parse_processor_list(first_line(file).value_or("")).value_or(std::vector<int>{});
}

/// The threads of the core that the processor is one of.
std::vector<int> siblings_of(const fs::path& processor_folder, int processor) {
  for (const char* name : {"core_cpus_list", "thread_siblings_list"}) {
    std::vector<int> siblings = list_in(processor_folder / "topology" / name);
    if (!siblings.empty()) return siblings;
  }
  return {processor};
}

void add_caches(const fs::path& processor_folder, std::vector<CacheInstance>& found) {
  for (int index = 0; index < 16; ++index) {
    const fs::path folder = processor_folder / "cache" / fmt::format("index{}", index);
    const auto type = first_line(folder / "type");
    if (!type) break;
    if (*type == "Instruction") continue;
    const auto level = whole_number(first_line(folder / "level").value_or(""));
    const auto bytes = cache_bytes(first_line(folder / "size").value_or(""));
    if (!level || *level < 1 || *level > 5 || !bytes) continue;
    found.push_back({static_cast<int>(*level), *bytes, list_in(folder / "shared_cpu_list")});
  }
}

/// "Node 0 MemTotal:       24689888 kB".
std::int64_t memory_of_node(const fs::path& folder) {
  for (const std::string& line : lines_of(folder / "meminfo")) {
    const std::size_t at = line.find("MemTotal:");
    if (at == std::string::npos) continue;
    std::string_view rest = trimmed(std::string_view(line).substr(at + 9));
    rest = trimmed(rest.substr(0, rest.find(' ')));
    return whole_number(rest).value_or(0) * 1024;
  }
  return 0;
}

std::vector<NumaNode> nodes_below(const fs::path& root, std::span<const int> allowed) {
  std::vector<NumaNode> nodes;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root / "sys/devices/system/node", ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("node")) continue;
    const auto id = processor_number(std::string_view(name).substr(4));
    if (!id) continue;
    NumaNode node{*id, those_allowed(list_in(entry.path() / "cpulist"), allowed),
                  memory_of_node(entry.path())};
    if (!node.processors.empty()) nodes.push_back(std::move(node));
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.id < b.id; });
  return nodes;
}

}  // namespace

std::int64_t Topology::processors() const {
  std::int64_t count = 0;
  for (const auto& core : cores) count += static_cast<std::int64_t>(core.size());
  return count;
}

std::optional<std::vector<int>> parse_processor_list(std::string_view text) {
  std::vector<int> processors;
  text = trimmed(text);
  if (text.empty()) return processors;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = processor_number(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : processor_number(part.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    for (int each = *first; each <= *last; ++each) processors.push_back(each);
  }
  return processors;
}

std::vector<CacheLevel> cache_levels(std::span<const CacheInstance> instances,
                                     std::span<const std::vector<int>> cores) {
  std::map<int, CacheLevel> levels;
  std::set<std::pair<int, std::vector<int>>> seen;
  for (const CacheInstance& instance : instances) {
    if (!seen.insert({instance.level, instance.processors}).second) continue;
    const auto sharing = std::count_if(cores.begin(), cores.end(), [&](const auto& core) {
      return !those_allowed(instance.processors, core).empty();
    });
    if (sharing == 0) continue;
    const auto [place, is_new] =
        levels.try_emplace(instance.level, CacheLevel{instance.level, instance.bytes, 0, sharing});
    CacheLevel& level = place->second;
    level.bytes = std::min(level.bytes, instance.bytes);  // cores of two kinds: what all have
    level.cores_sharing = std::max<std::int64_t>(level.cores_sharing, sharing);
    ++level.instances;
  }
  std::vector<CacheLevel> list;
  for (const auto& [number, level] : levels) list.push_back(level);
  return list;
}

Topology topology_from_sysfs(const fs::path& root, std::span<const int> allowed) {
  Topology topology;
  topology.source = "sysfs";
  std::vector<CacheInstance> caches;
  std::set<std::string> packages;
  std::set<std::vector<int>> cores;
  for (const int processor : allowed) {
    const fs::path folder = root / "sys/devices/system/cpu" / fmt::format("cpu{}", processor);
    std::error_code ignored;
    if (!fs::exists(folder, ignored)) {
      fail(ErrorKind::environment,
           "the cores of this computer cannot be seen: {} is not there (is /sys mounted?)",
           folder.string());
    }
    cores.insert(those_allowed(siblings_of(folder, processor), allowed));
    packages.insert(first_line(folder / "topology/physical_package_id").value_or("0"));
    add_caches(folder, caches);
  }
  topology.cores.assign(cores.begin(), cores.end());
  topology.packages = static_cast<std::int64_t>(packages.size());
  topology.caches = cache_levels(caches, topology.cores);
  topology.nodes = nodes_below(root, allowed);
  return topology;
}

}  // namespace strata::cpu
