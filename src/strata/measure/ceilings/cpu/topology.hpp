// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What the CPU at hand is made of: cores, caches, memory nodes, of those processors that this
/// process may use. Read with hwloc, or from sysfs in a build without it.
namespace strata::cpu {

/// One level of data caches, of the processors that may be used.
struct CacheLevel {
  int level = 1;
  std::int64_t bytes = 0;          ///< of one instance
  std::int64_t instances = 1;      ///< that at least one of the processors shares
  std::int64_t cores_sharing = 1;  ///< most cores, of those that may be used, on one instance

  bool operator==(const CacheLevel&) const = default;
};

struct NumaNode {
  int id = 0;
  std::vector<int> processors;
  std::int64_t memory_bytes = 0;

  bool operator==(const NumaNode&) const = default;
};

struct Topology {
  std::string source;                   ///< "hwloc 2.9.0", "sysfs"
  std::vector<std::vector<int>> cores;  ///< the processors (hardware threads) of each, rising
  std::int64_t packages = 1;
  std::vector<CacheLevel> caches;  ///< innermost first; empty when the system does not say
  std::vector<NumaNode> nodes;     ///< those with processors that may be used

  std::int64_t processors() const;
  bool operator==(const Topology&) const = default;
};

/// "0-3,8" as the kernel writes lists of processors. Nothing when the text is something else.
std::optional<std::vector<int>> parse_processor_list(std::string_view text);

/// The part of this computer that the processors in `allowed` are. Errors (environment) say what
/// could not be read.
Topology topology_of(std::span<const int> allowed);

/// The same from sysfs below `root` (which is "/" but in tests).
Topology topology_from_sysfs(const std::filesystem::path& root, std::span<const int> allowed);

/// Level, size, and the processors on it: what both readers know of one cache.
struct CacheInstance {
  int level = 1;
  std::int64_t bytes = 0;
  std::vector<int> processors;
};
/// One line per level; instances outside `cores` are left out, and those that several processors
/// report count once.
std::vector<CacheLevel> cache_levels(std::span<const CacheInstance> instances,
                                     std::span<const std::vector<int>> cores);

}  // namespace strata::cpu
