// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/allowance.hpp"

#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace strata::cpu {
namespace {

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

// What a container may take, not what its machine has: the kernel would end a process that takes
// more. Files in the cache of pages make way.
TEST(CpuAllowance, free_memory_is_that_of_the_container) {
  const test::TemporaryFolder folder;
  const std::filesystem::path root = folder.path(), groups = root / "sys/fs/cgroup";
  write_file(root / "proc/meminfo", "MemAvailable:    9 kB");
  EXPECT_EQ(free_memory_bytes(root), 9 * 1024);
  write_file(root / "proc/self/cgroup", "0::/");
  write_file(groups / "memory.max", "3000");
  write_file(groups / "memory.current", "1000");
  EXPECT_EQ(free_memory_bytes(root), 2000);
  write_file(groups / "memory.stat", "anon 200\ninactive_file 600\nactive_file 100");
  EXPECT_EQ(free_memory_bytes(root), 2600);
  EXPECT_GT(free_memory_bytes(), 0);
}

}  // namespace
}  // namespace strata::cpu
