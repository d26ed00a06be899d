// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/guest.hpp"
#include "cli/program.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

/// What every fuzz target of a command asks: the command takes any file that a stranger sends, and
/// all that it prints can be shown and read; or an Error says what is wrong with the file.
namespace strata::fuzz {

/// A folder of this process, removed at its end. What was measured on this host is not looked at.
class WorkFolder {
 public:
  WorkFolder() { ::setenv("XDG_DATA_HOME", folder_.path().c_str(), 1); }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
};

inline std::string path_of(std::string_view name) {
  static const WorkFolder folder;
  return (folder.path() / name).string();
}

inline std::string file_with(std::string_view name, std::string_view bytes) {
  const std::string path = path_of(name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

/// The bytes as a file with the ending that such files have.
inline std::string input_file(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.starts_with("SQLite format 3")) return file_with("input.db", bytes);
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  const bool is_json = first != bytes.npos && (bytes[first] == '{' || bytes[first] == '[');
  return file_with(is_json ? "input.json" : "input.csv", bytes);
}

inline bool has_word(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Runs `strata WORDS` here; false: it refused the file. The machine at hand is never to blame for
/// what a file says, nor is Strata.
inline bool try_command(const std::vector<std::string>& words) {
  path_of("");  // before the command looks at the environment
  Guest guest;
  const GuestRun run(guest);
  try {
    run_program(words);
  } catch (const Error& error) {
    const bool is_the_files_fault =
        error.kind() != ErrorKind::internal && error.kind() != ErrorKind::environment;
    if (!is_the_files_fault) throw;
    return false;
  }
  const bool is_page = has_word(words, "--html") || has_word(words, "report");
  if (!is_page && printable_lines(guest.output) != guest.output) __builtin_trap();
  const bool is_json = has_word(words, "--json") && has_word(words, "-");
  if (is_json && !nlohmann::json::accept(guest.output)) __builtin_trap();
  return true;
}

/// As text, and in each of the forms that go to standard output.
inline void try_forms(const std::vector<std::string>& words,
                      const std::vector<std::string>& forms) {
  if (!try_command(words)) return;
  for (const std::string& form : forms) {
    std::vector<std::string> with_form = words;
    with_form.insert(with_form.end(), {form, "-"});
    try_command(with_form);
  }
}

/// What `strata predict --json` writes, without what was asked: making the prediction again takes
/// far longer than looking at a file.
inline const std::string& written_profile() {
  static const std::string path = [] {
    const std::string file = path_of("lenet5.json");
    if (!try_command({"predict", "lenet5", "--on", "v100-nersc", "--json", file})) __builtin_trap();
    nlohmann::ordered_json document = nlohmann::ordered_json::parse(std::ifstream(file));
    document["provenance"].erase("request");
    return file_with("profile.json", document.dump());
  }();
  return path;
}

}  // namespace strata::fuzz
