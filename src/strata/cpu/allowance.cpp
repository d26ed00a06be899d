// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/allowance.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/cpu/system_files.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace strata::cpu {
namespace {

namespace fs = std::filesystem;

template <class T>
void keep_least(std::optional<T>& least, const std::optional<T>& other) {
  if (other && (!least || *other < *least)) least = other;
}

/// Version 2: "200000 100000" or "max 100000".
std::optional<double> quota_of_line(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto quota = whole_number(line.substr(0, space));
  const auto period = whole_number(trimmed(line.substr(space + 1)));
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<std::int64_t> number_in(const fs::path& file) {
  return whole_number(first_line(file).value_or(""));
}

/// "inactive_file 4096": cached parts of files that nobody has read lately.
std::int64_t inactive_file_bytes(const fs::path& stat_file, std::string_view name) {
  for (const std::string& line : lines_of(stat_file)) {
    if (!line.starts_with(name)) continue;
    if (const auto bytes = whole_number(trimmed(std::string_view(line).substr(name.size())))) {
      return *bytes;
    }
  }
  return 0;
}

/// A limit less what is used of it. What the kernel takes back when memory is short does not count
/// as used.
std::optional<std::int64_t> room_in(const fs::path& limit_file, const fs::path& used_file,
                                    std::int64_t given_back) {
  const auto limit = number_in(limit_file);  // "max" is no number
  // Version 1 says "no limit" by a number near 2^63.
  if (!limit || *limit > (std::int64_t{1} << 60)) return std::nullopt;
  const std::int64_t used =
      std::max<std::int64_t>(number_in(used_file).value_or(0) - given_back, 0);
  return std::max<std::int64_t>(*limit - used, 0);
}

void take_limits_of(const fs::path& folder, bool is_version_2, GroupLimits& limits) {
  if (is_version_2) {
    keep_least(limits.processors, quota_of_line(first_line(folder / "cpu.max").value_or("")));
    keep_least(limits.free_memory_bytes,
               room_in(folder / "memory.max", folder / "memory.current",
                       inactive_file_bytes(folder / "memory.stat", "inactive_file ")));
    return;
  }
  const auto quota = number_in(folder / "cpu.cfs_quota_us");  // -1: none
  const auto period = number_in(folder / "cpu.cfs_period_us");
  if (quota && period && *quota > 0 && *period > 0)
    keep_least(limits.processors,
               std::optional(static_cast<double>(*quota) / static_cast<double>(*period)));
  keep_least(limits.free_memory_bytes,
             room_in(folder / "memory.limit_in_bytes", folder / "memory.usage_in_bytes",
                     inactive_file_bytes(folder / "memory.stat", "total_inactive_file ")));
}

/// A group and all above it: each may set a limit.
void take_limits_upwards(const fs::path& mount, std::string_view group, bool is_version_2,
                         GroupLimits& limits) {
  fs::path folder = mount / fs::path(group).relative_path();
  for (int depth = 0; depth < 64; ++depth) {
    take_limits_of(folder, is_version_2, limits);
    if (folder.lexically_relative(mount) == "." || folder == folder.parent_path()) return;
    folder = folder.parent_path();
  }
}

std::optional<std::int64_t> memory_line(const fs::path& root, std::string_view name) {
  for (const std::string& line : lines_of(root / "proc/meminfo")) {
    if (!line.starts_with(name)) continue;
    std::string_view rest = trimmed(std::string_view(line).substr(name.size()));
    const auto kib = whole_number(trimmed(rest.substr(0, rest.find(' '))));
    if (kib) return *kib * 1024;
  }
  return std::nullopt;
}

}  // namespace

std::vector<int> allowed_processors() {
  for (int most = 1024; most <= (1 << 16); most *= 4) {
    const std::size_t bytes = CPU_ALLOC_SIZE(most);
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(most), [](cpu_set_t* each) { CPU_FREE(each); });
    if (set == nullptr) break;
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(0, bytes, set.get()) == 0) {
      std::vector<int> processors;
      for (int each = 0; each < most; ++each) {
        if (CPU_ISSET_S(each, bytes, set.get())) processors.push_back(each);
      }
      return processors;
    }
    if (errno != EINVAL) break;  // EINVAL: the kernel's set is larger
  }
  fail(ErrorKind::environment, "the processors that may be used are not known: {}",
       std::strerror(errno));
}

GroupLimits group_limits(const fs::path& root) {
  GroupLimits limits;
  const fs::path mount = root / "sys/fs/cgroup";
  for (const std::string& line : lines_of(root / "proc/self/cgroup")) {
    // "0::/path" in version 2, "4:cpu,cpuacct:/path" in version 1.
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      take_limits_upwards(mount, group, true, limits);
      continue;
    }
    for (const std::string_view controller : split(controllers, ',')) {
      if (controller == "cpu" || controller == "memory")
        take_limits_upwards(mount / std::string(controller), group, false, limits);
    }
  }
  return limits;
}

std::optional<std::int64_t> available_memory_bytes(const fs::path& root) {
  auto available = memory_line(root, "MemAvailable:");
  keep_least(available, group_limits(root).free_memory_bytes);
  return available;
}

std::int64_t free_memory_bytes(const fs::path& root) {
  if (const auto available = available_memory_bytes(root)) return *available;
  return static_cast<std::int64_t>(::sysconf(_SC_AVPHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace strata::cpu
