// SPDX-License-Identifier: Apache-2.0
// docs/formats.md against the program: its list of refused files, its formats, its exit codes.
#include "counts.hpp"
#include "strata/importers/importers.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace strata {
namespace {

std::string page() {
  return text_of_file(std::filesystem::path(STRATA_SOURCE_DIR) / "docs/formats.md");
}

/// What stands in backquotes at the begin of each row of the table between the marks.
std::set<std::string> refused_on_page() {
  const std::string text = page();
  const std::size_t begin = text.find("<!-- refused:");
  const std::size_t end = text.find("<!-- end of refused -->");
  EXPECT_LT(begin, end);
  std::set<std::string> files;
  for (std::size_t at = text.find("\n| `", begin); at < end; at = text.find("\n| `", at + 1)) {
    const std::size_t name = at + std::string_view("\n| `").size();
    files.insert(text.substr(name, text.find('`', name) - name));
  }
  return files;
}

TEST(FormatsPage, names_every_file_that_is_refused_and_no_other) {
  if (!collection()) GTEST_SKIP() << no_collection;
  std::set<std::string> refused;
  std::size_t files = 0;
  for (const std::string_view extension : {".onnx", ".json", ".prototxt", ".cfg"}) {
    for (const auto& file : files_below(*collection(), extension)) {
      ++files;
      try {
        import_model(file);
      } catch (const Error& error) {
        EXPECT_TRUE(error.kind() == ErrorKind::input || error.kind() == ErrorKind::unsupported)
            << error.what();
        refused.insert(file.lexically_relative(*collection()).string());
      }
    }
  }
  EXPECT_GE(files, 370U);
  EXPECT_EQ(refused_on_page(), refused);
}

TEST(FormatsPage, has_every_format_with_its_extensions) {
  const std::string text = page();
  for (const Format& format : formats()) {
    EXPECT_NE(text.find("\n| " + std::string(format.name) + " | `"), text.npos) << format.name;
    for (const std::string_view extension : format.extensions) {
      EXPECT_NE(text.find("`" + std::string(extension) + "`"), text.npos) << extension;
    }
  }
}

}  // namespace
}  // namespace strata
