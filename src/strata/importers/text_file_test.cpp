// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/text_file.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

TEST(TextFile, is_read_whole) {
  const test::TemporaryFolder folder;
  const std::string text(200'000, 'x');
  EXPECT_EQ(read_text_file(folder.file("long", text), text.size()), text);
  EXPECT_EQ(read_text_file(folder.file("empty", ""), 10), "");
}

TEST(TextFile, what_is_too_large_is_refused) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.file("five", "12345");
  try {
    read_text_file(path, 4);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.what(),
              path.string() + ": larger than 4 bytes, the most that is read of this format");
  }
}

TEST(TextFile, what_is_not_there_is_named) {
  try {
    read_text_file("no/such/file", 4);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no/such/file: cannot be opened for reading");
  }
}

}  // namespace
}  // namespace strata
