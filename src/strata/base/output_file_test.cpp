// SPDX-License-Identifier: Apache-2.0
#include "strata/base/output_file.hpp"

#include "strata/base/error.hpp"
#include "strata/base/scratch_folder.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>

namespace strata {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const fs::path& path) {
  struct stat there {};
  EXPECT_EQ(::stat(path.c_str(), &there), 0);
  return there.st_mode & 07777U;
}

/// The permissions of the result where a file of these is replaced.
mode_t mode_behind(const fs::path& path, mode_t before, uid_t owner) {
  std::ofstream(path) << "before";
  EXPECT_EQ(::chown(path.c_str(), owner, ~gid_t{0}), 0);
  EXPECT_EQ(::chmod(path.c_str(), before), 0);
  OutputFile file(path);
  file.write("after");
  file.finish();
  return mode_of(path);
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

TEST(OutputFile, keeps_who_may_read_and_write_it_and_no_other_right) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(mode_behind(folder.path() / "a", 0640, ::geteuid()), 0640U);
  EXPECT_EQ(mode_behind(folder.path() / "b", 0444, ::geteuid()), 0444U);
  EXPECT_EQ(mode_behind(folder.path() / "c", 06777, ::geteuid()), 0777U);
  EXPECT_EQ(mode_behind(folder.path() / "d", 01777, ::geteuid()), 0777U);
}

// A stranger could have the results of root run as root.
TEST(OutputFile, takes_no_permissions_from_a_file_of_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
  const test::TemporaryFolder folder;
  const mode_t before = ::umask(0022);
  constexpr uid_t stranger = 65534;
  EXPECT_EQ(mode_behind(folder.path() / "a", 06777, stranger), 0644U);
  EXPECT_EQ(mode_behind(folder.path() / "b", 0666, stranger), 0644U);
  ::umask(before);
}

// Whom the group's permissions were meant for is the group.
TEST(OutputFile, keeps_the_group_of_the_file_that_it_replaces) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to any group";
  const test::TemporaryFolder folder;
  const fs::path path = folder.file("a", "before");
  constexpr gid_t others = 65533;
  ASSERT_EQ(::chown(path.c_str(), ~uid_t{0}, others), 0);
  EXPECT_EQ(mode_behind(path, 0660, ::geteuid()), 0660U);
  struct stat there {};
  ASSERT_EQ(::stat(path.c_str(), &there), 0);
  EXPECT_EQ(there.st_gid, others);
}

TEST(OutputFile, writes_all_to_a_pipe) {
  const test::TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string text(1 << 20, 'x');  // more than a pipe holds
  std::string got;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // comes later
    std::ifstream file(pipe);
    got.assign(std::istreambuf_iterator<char>(file), {});
  });
  {
    OutputFile file(pipe);
    file.write(text);
    file.finish();
  }
  reader.join();
  EXPECT_EQ(got, text);
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
