// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/topology.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/cpu/allowance.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

namespace strata::cpu {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

void put(const fs::path& file, std::string_view text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text << '\n';
}

std::vector<int> first_processors(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Two packages of two cores of two threads, as Linux numbers them: threads of core c are c and c+4.
// Each core has its L1 and L2, each package its L3 and its memory.
void put_two_packages(const fs::path& root) {
  for (int processor = 0; processor < 8; ++processor) {
    const fs::path folder = root / fmt::format("sys/devices/system/cpu/cpu{}", processor);
    const int core = processor % 4;
    const int package = core / 2;
    const std::string threads = fmt::format("{},{}", core, core + 4);
    const std::string of_package =
        fmt::format("{}-{},{}-{}", 2 * package, 2 * package + 1, 2 * package + 4, 2 * package + 5);
    put(folder / "topology/physical_package_id", fmt::format("{}", package));
    put(folder / "topology/thread_siblings_list", threads);
    const auto cache = [&](int index, int level, std::string_view type, std::string_view size,
                           std::string_view shared) {
      const fs::path place = folder / fmt::format("cache/index{}", index);
      put(place / "level", fmt::format("{}", level));
      put(place / "type", type);
      put(place / "size", size);
      put(place / "shared_cpu_list", shared);
    };
    cache(0, 1, "Data", "48K", threads);
    cache(1, 1, "Instruction", "32K", threads);
    cache(2, 2, "Unified", "2048K", threads);
    cache(3, 3, "Unified", "30M", of_package);
  }
  for (int node = 0; node < 2; ++node) {
    const fs::path folder = root / fmt::format("sys/devices/system/node/node{}", node);
    put(folder / "cpulist",
        fmt::format("{}-{},{}-{}", 2 * node, 2 * node + 1, 2 * node + 4, 2 * node + 5));
    put(folder / "meminfo",
        fmt::format("Node {} MemTotal:       1000 kB\nNode {} MemFree: 1 kB", node, node));
  }
  put(root / "sys/devices/system/node/possible", "0-1");
}

TEST(CpuTopology, is_read_from_sysfs) {
  const TemporaryFolder folder;
  put_two_packages(folder.path());
  const Topology topology = topology_from_sysfs(folder.path(), first_processors(8));
  EXPECT_EQ(topology.cores, (std::vector<std::vector<int>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(topology.packages, 2);
  EXPECT_EQ(topology.processors(), 8);
  EXPECT_EQ(topology.caches, (std::vector<CacheLevel>{
                                 {1, 48 << 10, 4, 1}, {2, 2 << 20, 4, 1}, {3, 30 << 20, 2, 2}}));
  EXPECT_EQ(topology.nodes,
            (std::vector<NumaNode>{{0, {0, 1, 4, 5}, 1024000}, {1, {2, 3, 6, 7}, 1024000}}));
}

TEST(CpuTopology, is_of_the_processors_that_may_be_used) {
  const TemporaryFolder folder;
  put_two_packages(folder.path());
  const std::vector<int> allowed = {1, 2, 6};
  const Topology topology = topology_from_sysfs(folder.path(), allowed);
  EXPECT_EQ(topology.cores, (std::vector<std::vector<int>>{{1}, {2, 6}}));
  EXPECT_EQ(topology.caches, (std::vector<CacheLevel>{
                                 {1, 48 << 10, 2, 1}, {2, 2 << 20, 2, 1}, {3, 30 << 20, 2, 1}}));
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(topology.nodes[1].processors, (std::vector<int>{2, 6}));
}

TEST(CpuTopology, does_without_caches_and_nodes) {
  const TemporaryFolder folder;
  put(folder.path() / "sys/devices/system/cpu/cpu0/online", "1");
  put(folder.path() / "sys/devices/system/cpu/cpu0/cache/index0/type", "Data");  // no size
  const Topology topology = topology_from_sysfs(folder.path(), first_processors(1));
  EXPECT_EQ(topology.cores, (std::vector<std::vector<int>>{{0}}));
  EXPECT_TRUE(topology.caches.empty());
  EXPECT_TRUE(topology.nodes.empty());
}

TEST(CpuTopology, without_sysfs_is_a_lack_of_the_environment) {
  const TemporaryFolder folder;
  try {
    topology_from_sysfs(folder.path(), first_processors(1));
    FAIL() << "cores of a computer that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(std::string_view(error.what()).find("is /sys mounted?"), std::string_view::npos);
  }
}

TEST(CpuTopology, of_this_computer_is_the_same_by_both_readers) {
  const std::vector<int> allowed = allowed_processors();
  const Topology topology = topology_of(allowed);
  EXPECT_EQ(topology.processors(), static_cast<std::int64_t>(allowed.size()));
  const Topology by_hand = topology_from_sysfs("/", allowed);
  EXPECT_EQ(topology.cores, by_hand.cores);
  if (!by_hand.caches.empty()) {
    EXPECT_EQ(topology.caches, by_hand.caches);
  }
}

TEST(CpuTopology, lists_of_processors) {
  EXPECT_EQ(parse_processor_list("0-2,8,10-11\n"), (std::vector<int>{0, 1, 2, 8, 10, 11}));
  EXPECT_EQ(parse_processor_list(""), std::vector<int>{});
  for (const char* text : {"3-1", "a", "1,", "-1", "1-", "1-2-3", "99999999999", "0-70000"})
    EXPECT_EQ(parse_processor_list(text), std::nullopt) << text;
}

TEST(CpuAllowance, quotas_of_both_versions_of_groups) {
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  EXPECT_EQ(group_limits(root), GroupLimits{});
  put(root / "proc/self/cgroup", "0::/batch/job7");
  put(root / "sys/fs/cgroup/batch/job7/cpu.max", "max 100000");
  EXPECT_EQ(group_limits(root), GroupLimits{});
  put(root / "sys/fs/cgroup/batch/cpu.max", "150000 100000");
  put(root / "sys/fs/cgroup/memory.max", "1000");
  put(root / "sys/fs/cgroup/memory.current", "400");
  EXPECT_EQ(group_limits(root), (GroupLimits{1.5, 600}));

  put(root / "proc/self/cgroup", "4:cpu,cpuacct:/a\n9:memory:/a\n1:name=systemd:/a");
  put(root / "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1");
  put(root / "sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000");
  put(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000");
  put(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  put(root / "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(group_limits(root), (GroupLimits{2.0, std::nullopt}));
}

TEST(CpuAllowance, memory_is_the_least_of_system_and_groups) {
  const TemporaryFolder folder;
  EXPECT_EQ(available_memory_bytes(folder.path()), std::nullopt);
  put(folder.path() / "proc/meminfo", "MemTotal:  9 kB\nMemAvailable:    5 kB");
  EXPECT_EQ(available_memory_bytes(folder.path()), 5 * 1024);
  put(folder.path() / "proc/self/cgroup", "0::/");
  put(folder.path() / "sys/fs/cgroup/memory.max", "3000");
  EXPECT_EQ(available_memory_bytes(folder.path()), 3000);
}

}  // namespace
}  // namespace strata::cpu
