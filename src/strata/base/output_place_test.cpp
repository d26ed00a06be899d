// SPDX-License-Identifier: Apache-2.0
#include "strata/base/output_place.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace strata {
namespace {

namespace fs = std::filesystem;

constexpr uid_t nobody = 65534;

/// What is wrong with the path; empty: nothing.
std::string refusal_of_place(const fs::path& path, ErrorKind expected = ErrorKind::usage) {
  try {
    const OutputPlace place(path);
    place.expect_no_trap();
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), expected) << error.what();
    return error.what();
  }
}

fs::path link_of_nobody(const fs::path& target, const fs::path& link) {
  fs::create_symlink(target, link);
  EXPECT_EQ(::lchown(link.c_str(), nobody, nobody), 0);
  return link;
}

TEST(OutputPlace, is_behind_links_of_the_caller) {
  const test::TemporaryFolder folder;
  fs::create_directories(folder.path() / "a/b");
  fs::create_symlink("a", folder.path() / "folder");
  fs::create_symlink("../file", folder.path() / "a/link");
  const OutputPlace place(folder.path() / "folder/b/.././link");
  EXPECT_EQ(fs::weakly_canonical(place.folder_path() / place.name()),
            fs::weakly_canonical(folder.path() / "file"));
  EXPECT_FALSE(place.present());
  folder.file("file", "text");
  EXPECT_EQ(OutputPlace(folder.path() / "folder/link").present()->st_size, 4);
}

TEST(OutputPlace, is_not_behind_links_of_others) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a link of another user";
  const test::TemporaryFolder folder;
  const fs::path victim = folder.file("victim", "precious");
  link_of_nobody(victim, folder.path() / "out.json");
  EXPECT_NE(refusal_of_place(folder.path() / "out.json").find("is a link of another user"),
            std::string::npos);
  link_of_nobody("missing", folder.path() / "new.json");
  EXPECT_NE(refusal_of_place(folder.path() / "new.json").find("is a link of another user"),
            std::string::npos);
  link_of_nobody(folder.path(), folder.path() / "folder");
  EXPECT_NE(refusal_of_place(folder.path() / "folder/victim").find("is a link of another user"),
            std::string::npos);
  fs::create_symlink("out.json", folder.path() / "own");  // leads to one of another user
  EXPECT_NE(refusal_of_place(folder.path() / "own").find("is a link of another user"),
            std::string::npos);
}

// What is written into a file of somebody else he sees and can change.
TEST(OutputPlace, is_no_file_that_another_user_planted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
  const test::TemporaryFolder folder;
  const fs::path planted = folder.file("points.csv", "");
  ASSERT_EQ(::chown(planted.c_str(), nobody, nobody), 0);
  EXPECT_EQ(refusal_of_place(planted), "") << "nobody else can leave files there";
  fs::permissions(folder.path(), fs::perms::all | fs::perms::sticky_bit);
  EXPECT_NE(refusal_of_place(planted).find("belongs to another user"), std::string::npos);
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
  EXPECT_EQ(refusal_of_place(pipe), "");
  ASSERT_EQ(::chown(pipe.c_str(), nobody, nobody), 0);
  EXPECT_NE(refusal_of_place(pipe).find("belongs to another user"), std::string::npos);
}

TEST(OutputPlace, that_cannot_be_is_an_error) {
  const test::TemporaryFolder folder;
  folder.file("file", "text");
  fs::create_symlink("loop", folder.path() / "loop");
  EXPECT_NE(refusal_of_place(folder.path() / "nowhere/out").find("No such file"),
            std::string::npos);
  EXPECT_NE(refusal_of_place(folder.path() / "new/").find("No such file"), std::string::npos);
  EXPECT_NE(refusal_of_place(folder.path() / "file/out").find("Not a directory"),
            std::string::npos);
  EXPECT_NE(refusal_of_place(folder.path() / "nowhere/..").find("No such file"), std::string::npos);
  for (const fs::path& path : {folder.path(), folder.path() / ".", folder.path() / "..",
                               fs::path("/"), fs::path("."), folder.path() / ""})
    EXPECT_NE(refusal_of_place(path).find("Is a directory"), std::string::npos) << path;
  EXPECT_NE(refusal_of_place("").find("No such file"), std::string::npos);
  EXPECT_NE(refusal_of_place(folder.path() / "loop", ErrorKind::environment).find("Too many"),
            std::string::npos);
}

TEST(OutputPlace, tells_files_from_pipes_and_devices) {
  EXPECT_TRUE(OutputPlace("/dev/null").is_special());
  EXPECT_NO_THROW(OutputPlace("/dev/null").expect_writable());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_TRUE(OutputPlace("/dev/fd/" + std::to_string(ends[1])).is_special());
  ::close(ends[0]);
  ::close(ends[1]);
  const test::TemporaryFolder folder;
  EXPECT_FALSE(OutputPlace(folder.file("file", "")).is_special());
}

}  // namespace
}  // namespace strata
