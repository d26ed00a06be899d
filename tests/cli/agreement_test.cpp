// SPDX-License-Identifier: Apache-2.0
// One table of flags; everything that shows flags must show exactly these.
#include "cli/command.hpp"
#include "cli/completions.hpp"
#include "cli/exit_code.hpp"
#include "cli/help_text.hpp"
#include "strata/base/text.hpp"
#include "tests/cli/run_program.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using Words = std::set<std::string>;

Words spellings_of(std::span<const Flag> flags) {
  Words words;
  for (const Flag& flag : flags) {
    words.insert(fmt::format("--{}", flag.name));
    if (flag.letter != 0) words.insert(fmt::format("-{}", flag.letter));
  }
  return words;
}

/// Every --flag that stands in a text.
Words long_flags_in(const std::string& text) {
  static const std::regex pattern("(^|[^A-Za-z0-9-])(--[a-z][a-z-]*)");
  Words words;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    words.insert((*match)[2]);
  }
  return words;
}

Words long_flags_of(std::span<const Flag> flags) {
  Words words;
  for (const Flag& flag : flags) words.insert(fmt::format("--{}", flag.name));
  return words;
}

/// The part of a text between two marks.
std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from);
  EXPECT_NE(begin, text.npos) << from;
  if (begin == text.npos) return {};
  return text.substr(begin, text.find(to, begin + from.size()) - begin) + '\n';
}

bool is_installed(const char* program) {
  return run_words({"sh", "-c", fmt::format("command -v {}", program)}).exit_code == 0;
}

std::string generated(const std::string& what) {
  const Outcome outcome = run({"generate", what});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(Agreement, flags_are_well_formed_and_their_letters_unique) {
  for (const Command* command : commands()) {
    std::set<char> letters;
    std::set<std::string_view> names;
    for (const Flag& flag : all_flags(*command)) {
      EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
      EXPECT_TRUE(flag.letter == 0 || letters.insert(flag.letter).second) << flag.letter;
      EXPECT_TRUE(flag.help.ends_with('.')) << flag.help;
      EXPECT_EQ(flag.offer == Offer::choices, !flag.choices.empty()) << flag.name;
      EXPECT_FALSE(flag.value.empty() && flag.repeats) << flag.name;
    }
  }
}

TEST(Agreement, the_summary_shows_every_flag) {
  for (const Command* command : commands()) {
    const std::string text = run({std::string(command->name), "-h"}).out;
    for (const Flag& flag : all_flags(*command)) {
      EXPECT_NE(text.find(spelling_of(flag)), text.npos) << flag.name;
      EXPECT_NE(text.find(flag.help), text.npos) << flag.name;
    }
    EXPECT_EQ(long_flags_in(text), long_flags_of(all_flags(*command)));
  }
}

TEST(Agreement, the_page_explains_every_flag_and_no_other) {
  for (const Command* command : commands()) {
    const std::string text = run({"help", std::string(command->name)}).out;
    for (const Flag& flag : command->flags) {
      const std::string value = flag.value.empty() ? "" : fmt::format(" {}", flag.value);
      const std::string letter = flag.letter == 0 ? "" : fmt::format("`-{}`, ", flag.letter);
      const std::string entry = fmt::format("- {}`--{}{}`: ", letter, flag.name, value);
      EXPECT_NE(text.find(entry), text.npos) << command->name << ": " << entry;
    }
    const std::string options = between(text, "\n## Options\n", "\n## ");
    for (const std::string& mentioned : long_flags_in(options)) {
      EXPECT_TRUE(long_flags_of(all_flags(*command)).count(mentioned))
          << command->name << ": " << mentioned;
    }
  }
  const std::string program = run({"--help"}).out;
  for (const Flag& flag : program_flags()) {
    EXPECT_NE(program.find(fmt::format("`--{}", flag.name)), program.npos) << flag.name;
  }
  for (const ExitMeaning& entry : exit_meanings()) {
    EXPECT_NE(program.find(fmt::format("| {} | {} |", entry.code, entry.meaning)), program.npos)
        << entry.code;
  }
}

TEST(Agreement, the_man_page_shows_every_flag_and_exit_code) {
  std::string text = generated("man");
  text = std::regex_replace(text, std::regex(R"(\\f[BIR])"), "");
  text = std::regex_replace(text, std::regex(R"(\\-)"), "-");
  for (const Command* command : commands()) {
    const std::string section = between(text, fmt::format(".SS strata {}", command->name), "\n.S");
    EXPECT_EQ(long_flags_in(section), long_flags_of(command->flags)) << section;
    for (const Flag& flag : command->flags) {
      const std::string letter = flag.letter == 0 ? "" : fmt::format("-{}, ", flag.letter);
      const std::string value = flag.value.empty() ? "" : fmt::format(" {}", flag.value);
      const std::string entry =
          fmt::format(".TP\n{}--{}{}\n{}\n", letter, flag.name, value, flag.help);
      EXPECT_NE(section.find(entry), section.npos) << entry;
    }
  }
  const std::string globals = between(text, ".SH GLOBAL OPTIONS", ".SH EXIT");
  EXPECT_EQ(long_flags_in(globals), long_flags_of(program_flags()));
  for (const ExitMeaning& entry : exit_meanings()) {
    EXPECT_NE(text.find(fmt::format(".B {}\n{}.\n", entry.code, entry.meaning)), text.npos)
        << entry.code;
  }
}

TEST(Agreement, the_man_page_is_sound_roff) {
  if (!is_installed("groff")) GTEST_SKIP() << "groff is not installed";
  const TemporaryFolder folder;
  write(folder.path() / "strata.1", generated("man"));
  const Outcome outcome =
      run_words({"groff", "-man", "-Tutf8", "-ww", "-z", "strata.1"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
}

/// What bash offers after these words; the last one is being typed.
Words bash_offers(const std::filesystem::path& folder, const std::vector<std::string>& words) {
  std::string script = "source ./completion\nCOMP_WORDS=(";
  for (const std::string& word : words) script += fmt::format("'{}' ", word);
  script += fmt::format(")\nCOMP_CWORD={}\n_strata\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
                        words.size() - 1);
  const Outcome outcome = run_words({"bash", "-c", script}, {.folder = folder});
  EXPECT_EQ(outcome.err, "");
  Words offers;
  for (const std::string_view line : split(outcome.out, '\n')) {
    if (!line.empty()) offers.emplace(line);
  }
  return offers;
}

TEST(Agreement, bash_offers_every_flag) {
  const TemporaryFolder folder;
  write(folder.path() / "completion", generated("bash"));
  const Outcome syntax = run_words({"bash", "-n", "completion"}, {.folder = folder.path()});
  ASSERT_EQ(syntax.exit_code, 0) << syntax.err;
  EXPECT_EQ(bash_offers(folder.path(), {"strata", "-"}), spellings_of(program_flags()));
  const auto names = command_words();
  EXPECT_EQ(bash_offers(folder.path(), {"strata", ""}), Words(names.begin(), names.end()));
  EXPECT_EQ(bash_offers(folder.path(), {"strata", "--color", "never", "sh"}), Words{"show"});
  for (const Command* command : commands()) {
    const std::string name(command->name);
    EXPECT_EQ(bash_offers(folder.path(), {"strata", name, "-"}), spellings_of(all_flags(*command)));
    for (const Flag& flag : all_flags(*command)) {
      if (flag.choices.empty()) continue;
      const Words choices(flag.choices.begin(), flag.choices.end());
      const std::string spelling = fmt::format("--{}", flag.name);
      EXPECT_EQ(bash_offers(folder.path(), {"strata", name, spelling, ""}), choices);
      EXPECT_EQ(bash_offers(folder.path(), {"strata", name, spelling, "=", ""}), choices);
      EXPECT_EQ(bash_offers(folder.path(), {"strata", name, spelling, "="}), choices);
    }
  }
}

TEST(Agreement, bash_offers_models_and_files) {
  const TemporaryFolder folder;
  write(folder.path() / "completion", generated("bash"));
  write(folder.path() / "resnet 50.onnx", "");
  EXPECT_EQ(bash_offers(folder.path(), {"strata", "show", "alex"}),
            (Words{"alexnet", "alexnet_caffe"}));
  EXPECT_TRUE(bash_offers(folder.path(), {"strata", "show", "resnet"}).count("resnet 50.onnx"));
  EXPECT_TRUE(bash_offers(folder.path(), {"strata", "show", "resnet"}).count("resnet50"));
  EXPECT_EQ(bash_offers(folder.path(), {"strata", "show", "alexnet", "--json", "res"}),
            Words{"resnet 50.onnx"});
  EXPECT_EQ(bash_offers(folder.path(), {"strata", "list", "m"}), Words{"machines"});
  EXPECT_EQ(bash_offers(folder.path(), {"strata", "help", "sh"}), Words{"show"});
}

TEST(Agreement, every_shell_offers_machines) {
  const TemporaryFolder folder;
  write(folder.path() / "completion", generated("bash"));
  write(folder.path() / "h2-mine.json", "");
  const Words machines{"h20", "h200", "h2-mine.json"};
  EXPECT_EQ(bash_offers(folder.path(), {"strata", "predict", "alexnet", "--on", "h2"}), machines);
  EXPECT_EQ(bash_offers(folder.path(), {"strata", "machine", "show", "h2"}), machines);
  EXPECT_EQ(bash_offers(folder.path(), {"strata", "machine", "--color", "never", "s"}),
            Words{"show"});
  EXPECT_EQ(bash_offers(folder.path(), {"strata", "machine", "d"}), Words{"diff"});
  const std::string zsh = generated("zsh");
  const std::string fish = generated("fish");
  for (const std::string_view machine : machine_words()) {
    EXPECT_NE(zsh.find(machine), std::string::npos) << machine;
    EXPECT_NE(fish.find(machine), std::string::npos) << machine;
  }
}

TEST(Agreement, zsh_offers_every_flag) {
  const std::string text = generated("zsh");
  EXPECT_EQ(text.find("#compdef strata\n"), 0U);
  for (const Command* command : commands()) {
    const std::string section = between(text, fmt::format("\n        {})\n", command->name), ";;");
    for (const Flag& flag : all_flags(*command)) {
      const std::string form = fmt::format("--{}{}[", flag.name, flag.value.empty() ? "" : "=");
      EXPECT_NE(section.find(form), section.npos) << form;
      if (flag.letter == 0) continue;
      const std::string short_form =
          fmt::format("-{}{}[", flag.letter, flag.value.empty() ? "" : "+");
      EXPECT_NE(section.find(short_form), section.npos) << short_form;
    }
    EXPECT_EQ(long_flags_in(section), long_flags_of(all_flags(*command)));
  }
}

TEST(Agreement, zsh_takes_the_script) {
  if (!is_installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  const TemporaryFolder folder;
  write(folder.path() / "_strata", generated("zsh"));
  const Outcome outcome = run_words({"zsh", "-n", "_strata"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST(Agreement, fish_offers_every_flag) {
  const std::string text = generated("fish");
  for (const Command* command : commands()) {
    for (const Flag& flag : all_flags(*command)) {
      std::string line =
          fmt::format("-n '__fish_seen_subcommand_from {}' -l {}", command->name, flag.name);
      if (flag.letter != 0) line += fmt::format(" -s {}", flag.letter);
      EXPECT_NE(text.find(line + ' '), text.npos) << line;
    }
  }
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  std::size_t expected = 2 + program_flags().size();
  for (const Command* command : commands())
    expected += 1 + all_flags(*command).size() + command->arguments.size();
  EXPECT_EQ(lines, expected) << "a flag that is in no table";
}

TEST(Agreement, fish_takes_the_script) {
  if (!is_installed("fish")) GTEST_SKIP() << "fish is not installed";
  const TemporaryFolder folder;
  write(folder.path() / "strata.fish", generated("fish"));
  const Outcome outcome =
      run_words({"fish", "--no-config", "-c", "source strata.fish; complete -C 'strata show --'"},
                {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const Flag& flag : all_flags(command_named("show"))) {
    EXPECT_NE(outcome.out.find(fmt::format("--{}", flag.name)), outcome.out.npos) << flag.name;
  }
}

// setup is a script of its own, because it runs before there is a program.
TEST(Agreement, the_script_of_setup_takes_the_flags_of_the_table) {
  std::ifstream file(std::string(STRATA_SOURCE_DIR) + "/tools/setup.sh");
  const std::string script(std::istreambuf_iterator<char>(file), {});
  ASSERT_FALSE(script.empty());
  for (const Flag& flag : command_named("setup").flags) {
    EXPECT_NE(script.find(fmt::format("  --{})", flag.name)), script.npos) << flag.name;
  }
}

}  // namespace
}  // namespace strata::test
