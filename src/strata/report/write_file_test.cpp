// SPDX-License-Identifier: Apache-2.0
#include "strata/report/write_file.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace strata {
namespace {

namespace fs = std::filesystem;

class WriteFile : public testing::Test {
 protected:
  static std::string content(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static ErrorKind kind_of_error(const fs::path& path) {
    try {
      write_file(path, "text");
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
      return error.kind();
    }
    ADD_FAILURE() << path << " was written";
    return ErrorKind::internal;
  }

  test::TemporaryFolder scratch_;
  const fs::path& folder_ = scratch_.path();
};

TEST_F(WriteFile, makes_a_file_and_replaces_it_leaving_nothing_beside) {
  write_file(folder_ / "a.json", "one");
  EXPECT_EQ(content(folder_ / "a.json"), "one");
  write_file(folder_ / "a.json", "2");
  EXPECT_EQ(content(folder_ / "a.json"), "2");
  EXPECT_EQ(files(), 1U);
}

TEST_F(WriteFile, keeps_permissions_and_links) {
  write_file(folder_ / "a", "one");
  fs::permissions(folder_ / "a", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a", folder_ / "link");
  write_file(folder_ / "link", "two");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(folder_ / "a"), "two");
  EXPECT_EQ(fs::status(folder_ / "a").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(WriteFile, a_device_is_written_to_and_not_replaced) {
  write_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(WriteFile, a_wrong_path_is_a_usage_error) {
  EXPECT_EQ(kind_of_error(folder_ / "no" / "such" / "folder"), ErrorKind::usage);
  EXPECT_EQ(kind_of_error(folder_), ErrorKind::usage);
  write_file(folder_ / "file", "text");
  EXPECT_EQ(kind_of_error(folder_ / "file" / "below"), ErrorKind::usage);
  EXPECT_EQ(files(), 1U);
}

TEST_F(WriteFile, a_full_disk_is_an_environment_error) {
  EXPECT_EQ(kind_of_error("/dev/full"), ErrorKind::environment);
}

}  // namespace
}  // namespace strata
