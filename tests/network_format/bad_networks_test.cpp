// SPDX-License-Identifier: Apache-2.0
// Every file in tests/bad_networks is refused as bad input, with the message that messages.tsv
// promises.
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/importers.hpp"
#include "test_files.hpp"

#include <gtest/gtest.h>

#include <map>

namespace strata {
namespace {

std::filesystem::path folder() { return source_dir() / "tests/bad_networks"; }

std::map<std::string, std::string> expected_messages() {
  std::map<std::string, std::string> messages;
  const std::string text = text_of_file(folder() / "messages.tsv");
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t tab = line.find('\t');
    if (line.empty() || line.starts_with('#')) continue;
    EXPECT_NE(tab, std::string_view::npos) << line;
    EXPECT_TRUE(messages.emplace(line.substr(0, tab), line.substr(tab + 1)).second) << line;
  }
  return messages;
}

TEST(BadNetworks, are_refused_with_the_right_message) {
  for (const auto& [file, message] : expected_messages()) {
    try {
      import_model(folder() / file);
      ADD_FAILURE() << file << " was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
      const std::string shown = error.what();
      EXPECT_NE(shown.find(message), std::string::npos) << shown << "\nexpected: " << message;
      EXPECT_TRUE(shown.starts_with((folder() / file).string() + ": ")) << shown;
      EXPECT_EQ(shown.find('\n'), std::string::npos) << shown;
    }
  }
}

TEST(BadNetworks, every_file_has_a_message) {
  const auto messages = expected_messages();
  const auto files = files_in(folder(), {".json", ".toml"});
  EXPECT_EQ(files.size(), messages.size());
  for (const auto& path : files) EXPECT_TRUE(messages.contains(path.filename().string())) << path;
}

}  // namespace
}  // namespace strata
