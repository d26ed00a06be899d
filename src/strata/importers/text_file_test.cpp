// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/text_file.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace strata {
namespace {

std::filesystem::path written(const std::string& text) {
  const auto path = std::filesystem::path(testing::TempDir()) / "strata_text_file_test";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(TextFile, is_read_whole) {
  const std::string text(200'000, 'x');
  EXPECT_EQ(read_text_file(written(text), text.size()), text);
  EXPECT_EQ(read_text_file(written(""), 10), "");
}

TEST(TextFile, what_is_too_large_is_refused) {
  const auto path = written("12345");
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
