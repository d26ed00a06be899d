// SPDX-License-Identifier: Apache-2.0
#include "strata/base/output_file.hpp"

#include "strata/base/error.hpp"
#include "strata/base/scratch_folder.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <set>

namespace strata {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const fs::path& path) {
  struct stat there {};
  EXPECT_EQ(::stat(path.c_str(), &there), 0);
  return there.st_mode & 0777U;
}

// What an attack on the name with the number of the process needs.
TEST(OutputFile, does_not_write_through_a_link_that_somebody_left) {
  const test::TemporaryFolder folder;
  const fs::path victim = folder.file("victim", "precious");
  fs::create_symlink(victim, folder.path() / fmt::format(".out.json.{}.partial", ::getpid()));
  OutputFile file(folder.path() / "out.json");
  file.write("text");
  file.finish();
  std::ifstream read(victim);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(read), {}), "precious");
}

TEST(OutputFile, has_another_name_each_time_and_is_private_until_it_is_whole) {
  const test::TemporaryFolder folder;
  std::set<fs::path> names;
  for (int i = 0; i < 20; ++i) {
    OutputFile file(folder.path() / "a");
    names.insert(file.name_meanwhile());
    EXPECT_EQ(mode_of(file.name_meanwhile()), 0600U);
  }
  EXPECT_EQ(names.size(), 20U);
  EXPECT_TRUE(fs::is_empty(folder.path())) << "what was not finished is left";
}

TEST(OutputFile, that_is_new_has_the_permissions_that_the_user_wants) {
  const test::TemporaryFolder folder;
  const mode_t before = ::umask(0027);
  OutputFile file(folder.path() / "a");
  file.finish();
  ::umask(before);
  EXPECT_EQ(mode_of(folder.path() / "a"), 0640U);
}

TEST(OutputFile, that_vanished_is_an_error) {
  const test::TemporaryFolder folder;
  OutputFile file(folder.path() / "a");
  fs::remove(file.name_meanwhile());
  try {
    file.finish();
    FAIL() << "was silent";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
  }
}

TEST(ScratchFolder, is_private_and_gone_in_the_end) {
  const test::TemporaryFolder folder;
  fs::path path;
  {
    const ScratchFolder scratch = ScratchFolder::beside(folder.path() / "a.db", "logs");
    path = scratch.path();
    EXPECT_EQ(mode_of(path), 0700U);
    EXPECT_EQ(path.parent_path(), folder.path());
    std::ofstream(path / "log") << "text";
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace strata
