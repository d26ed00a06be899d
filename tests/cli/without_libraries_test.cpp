// SPDX-License-Identifier: Apache-2.0
// A build that lacks a library says so, and what to do, for every kind of file that needs it.
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace strata::test {
namespace {

std::string formats_page() {
  std::ifstream file(std::string(STRATA_SOURCE_DIR) + "/docs/formats.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(WithoutLibraries, files_that_need_them_are_refused_with_what_to_do) {
  struct Case {
    std::string name;
    std::string_view head;
  };
  const TemporaryFolder folder;
  const std::string page = formats_page();
  for (const auto& [name, head] :
       {Case{"model.onnx", "\x08\x07\x12\x04test"}, Case{"model.h5", "\x89HDF\r\n\x1A\n"},
        Case{"model.keras", "PK\x03\x04"}, Case{"model.toml", "strata_network = 1"}}) {
    std::ofstream(folder.path() / name, std::ios::binary) << head;
    const Outcome outcome =
        run_words({STRATA_WITHOUT_LIBRARIES, "show", name}, {.folder = folder.path()});
    EXPECT_EQ(outcome.exit_code, 3) << name;
    EXPECT_EQ(outcome.out, "");
    const std::string begin = "error: " + name + ": ";
    ASSERT_TRUE(outcome.err.starts_with(begin)) << outcome.err;
    const std::string said =
        outcome.err.substr(begin.size(), outcome.err.size() - begin.size() - 1);
    EXPECT_NE(page.find("| " + said + " |"), page.npos) << said;
  }
}

TEST(WithoutLibraries, everything_else_is_read) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "net.json")
      << R"({"class_name": "Sequential", "config": {"layers": [{"class_name": "Dense",
            "config": {"name": "d", "units": 3, "batch_input_shape": [null, 4]}}]}})";
  const Outcome outcome =
      run_words({STRATA_WITHOUT_LIBRARIES, "show", "net.json"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

}  // namespace
}  // namespace strata::test
