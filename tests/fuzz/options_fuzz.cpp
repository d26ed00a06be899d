// SPDX-License-Identifier: Apache-2.0
// Any file as the options of every command that takes them. The command is not run: the file may
// name others to be written.
#include "cli/options_file.hpp"
#include "cli/parse.hpp"
#include "tests/fuzz/any_command.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string file = strata::fuzz::file_with("options.toml", bytes);
  for (const strata::Command* command : strata::commands()) {
    if (!takes_options_file(*command)) continue;
    try {
      const std::vector<std::string> words = {"--options", file};
      const strata::Arguments given = parse(*command, words);
      // What was read and is written reads again as the same words.
      for (const std::string_view name : {"saved.toml", "saved.json"}) {
        const std::string text = options_file_text(*command, given, name);
        const std::vector<std::string> again = {"--options", strata::fuzz::file_with(name, text)};
        if (options_file_text(*command, parse(*command, again), name) != text) __builtin_trap();
      }
    } catch (const strata::Error& error) {
      const bool is_refused = error.kind() == strata::ErrorKind::input ||
                              error.kind() == strata::ErrorKind::usage ||
                              error.kind() == strata::ErrorKind::unsupported;
      if (!is_refused) throw;
    }
  }
  return 0;
}
