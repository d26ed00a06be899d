// SPDX-License-Identifier: Apache-2.0
// The only file that sees CLI11, whose headers take seconds to compile. CLI11 splits words into
// flags and values; what flags there are, what they allow and how errors read is ours, from the
// table.
#include "cli/parse.hpp"

#include "cli/options_file.hpp"
#include "strata/base/dtype.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace strata {
namespace {

bool looks_like_flag(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

[[noreturn]] void fail_usage(const std::string& message, const std::string& usage) {
  fail(ErrorKind::usage, "{}\n{}", message, usage);
}

/// The choice that a word means: "FP16", "look_ahead" and PyTorch's "float16" are fp16 and
/// look-ahead.
std::optional<std::string_view> choice_meant(std::span<const std::string_view> choices,
                                             std::string_view word) {
  const auto named = [&](std::string_view name) -> std::optional<std::string_view> {
    const auto found = std::find_if(choices.begin(), choices.end(), [&](std::string_view choice) {
      return same_name(choice, name);
    });
    return found == choices.end() ? std::nullopt : std::optional(*found);
  };
  if (const auto choice = named(word)) return choice;
  const std::optional<DType> dtype = dtype_meant(word);
  return dtype ? named(name_of(*dtype)) : std::nullopt;
}

/// One table of flags, its words, and the line of usage for errors.
class Parser {
 public:
  Parser(std::span<const Flag> flags, std::string usage, bool stops_at_word,
         std::span<const RefusedFlag> refused = {})
      : flags_(flags), refused_(refused), usage_(std::move(usage)) {
    app_.set_help_flag("");
    app_.allow_extras();
    app_.prefix_command(stops_at_word);
    for (const Flag& flag : flags_) add(flag);
  }

  Arguments parse(std::span<const std::string> words) {
    std::vector<std::string> reversed = with_implied_values(words);
    std::reverse(reversed.begin(), reversed.end());  // as CLI11 wants them
    try {
      app_.parse(reversed);
    } catch (const CLI::ParseError& error) {
      explain(error, words);
    }
    Arguments arguments(flags_);
    for (const Option& option : options_) {
      for (const std::string& value : option.parsed->results()) {
        const std::string meant =
            option.flag->value.empty() ? value : checked_value(*option.flag, value);
        arguments.add(*option.flag, option.spelling.empty() ? meant : option.spelling);
      }
    }
    add_words(arguments);
    return arguments;
  }

 private:
  struct Option {
    const Flag* flag;
    CLI::Option* parsed;
    std::string spelling;  // stands for the value of a switch whose short and long form differ
  };

  void add(const Flag& flag) {
    const std::string name = fmt::format("--{}", flag.name);
    if (flag.name == help_flag.name) {  // -h and --help say how much help is wanted
      options_.push_back({&flag, app_.add_flag("-h"), "-h"});
      options_.push_back({&flag, app_.add_flag(name), name});
      return;
    }
    std::string names = flag.letter == 0 ? name : fmt::format("-{},{}", flag.letter, name);
    if (!flag.also.empty()) names += fmt::format(",--{}", flag.also);
    CLI::Option* option = flag.value.empty() ? app_.add_flag(names) : app_.add_option(names);
    if (flag.value.empty()) {
      option->disable_flag_override();
    } else {
      option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
    options_.push_back({&flag, option, {}});
  }

  // A flag with an implied value may stand last or before another flag.
  std::vector<std::string> with_implied_values(std::span<const std::string> words) const {
    std::vector<std::string> all(words.begin(), words.end());
    for (std::size_t i = 0; i < all.size() && all[i] != "--"; ++i) {
      const bool has_value = i + 1 < all.size() && !looks_like_flag(all[i + 1]);
      for (const Flag& flag : flags_) {
        if (!flag.implied.empty() && !has_value && all[i] == fmt::format("--{}", flag.name))
          all[i] += fmt::format("={}", flag.implied);
      }
    }
    return all;
  }

  // CLI11 stops only for a value that is missing, or one that a switch does not take.
  [[noreturn]] void explain(const CLI::ParseError& error,
                            std::span<const std::string> words) const {
    for (const Flag& flag : flags_) {
      const std::string name = fmt::format("--{}", flag.name);
      for (const std::string& word : words) {
        const bool is_flag =
            word == name || (flag.letter != 0 && word == fmt::format("-{}", flag.letter));
        const bool is_last = &word == &words.back();
        const bool lacks_value = (is_flag && is_last) || word == name + '=';
        if (!flag.value.empty() && lacks_value) fail_missing_value(flag);
        const bool has_value = word.starts_with(name + '=');
        if (flag.value.empty() && has_value) fail_usage(name + " takes no value", usage_);
      }
    }
    fail_usage(error.what(), usage_);
  }

  [[noreturn]] void fail_missing_value(const Flag& flag) const {
    fail_usage(fmt::format("--{} needs a value: --{} {}", flag.name, flag.name, flag.value),
               usage_);
  }

  /// The value in the words of the table.
  std::string checked_value(const Flag& flag, const std::string& value) const {
    // "--json --csv f": the value was forgotten, and nobody means a file called --csv.
    const auto is_flag = [&](const Flag& other) {
      return value == fmt::format("--{}", other.name);
    };
    if (std::any_of(flags_.begin(), flags_.end(), is_flag)) fail_missing_value(flag);
    if (flag.choices.empty()) return value;
    if (const auto choice = choice_meant(flag.choices, value)) return std::string(*choice);
    const std::vector<std::string> choices(flag.choices.begin(), flag.choices.end());
    fail(ErrorKind::usage, "--{} expects {}, got '{}'{}", flag.name, alternatives(flag.choices),
         value, did_you_mean(lower_case(value), choices));
  }

  void add_words(Arguments& arguments) const {
    bool has_ended = false;  // after -- nothing is a flag
    for (const std::string& word : app_.remaining()) {
      // What follows a command is for the command to read.
      const bool is_command_found = app_.get_prefix_command() && !arguments.words().empty();
      if (is_command_found || has_ended) {
        arguments.add_word(word);
      } else if (word == "--") {
        has_ended = true;
      } else if (looks_like_flag(word)) {
        fail_unknown_flag(word);
      } else {
        arguments.add_word(word);
      }
    }
  }

  [[noreturn]] void fail_unknown_flag(const std::string& word) const {
    std::vector<std::string> names;
    for (const Flag& flag : flags_) names.push_back(fmt::format("--{}", flag.name));
    const std::string typed = word.substr(0, word.find('='));
    for (const RefusedFlag& flag : refused_) {
      if (typed == fmt::format("--{}", flag.name))
        fail_usage(typed + ' ' + std::string(flag.reason), usage_);
    }
    const std::string hint = asks_for_a_file(typed) ? files_of_results() : "";
    fail_usage(
        fmt::format("unknown flag {}{}", typed, hint.empty() ? did_you_mean(typed, names) : hint),
        usage_);
  }

  static bool asks_for_a_file(std::string_view typed) {
    return typed == "-o" || typed == "--output" || typed == "--out";
  }

  /// "; results go to files by --json FILE, --csv FILE": of a command whose files have their names
  /// by what is in them. Empty: it writes none.
  std::string files_of_results() const {
    constexpr std::string_view results[] = {"json", "csv",   "jsonl", "db", "html",
                                            "plot", "trace", "dot",   "svg"};
    std::vector<std::string> found;
    for (const std::string_view result : results) {
      for (const Flag& flag : flags_) {
        if (flag.name == result && !flag.value.empty())
          found.push_back(fmt::format("--{} {}", flag.name, flag.value));
      }
    }
    if (found.empty()) return "";
    return fmt::format("; results go to files by {}", fmt::join(found, ", "));
  }

  std::span<const Flag> flags_;
  std::span<const RefusedFlag> refused_;
  std::string usage_;
  CLI::App app_;
  std::vector<Option> options_;
};

void check_words(const Command& command, const Arguments& arguments) {
  const std::string usage = usage_of(command);
  const auto& words = arguments.words();
  for (std::size_t index = 0; index < command.arguments.size(); ++index) {
    const Argument& argument = command.arguments[index];
    if (index >= words.size()) {
      if (argument.is_required) fail_usage(fmt::format("{} is missing", argument.name), usage);
      return;
    }
    if (argument.choices.empty()) continue;
    const std::vector<std::string> choices(argument.choices.begin(), argument.choices.end());
    if (std::find(choices.begin(), choices.end(), words[index]) != choices.end()) continue;
    fail_usage(
        fmt::format("{} expects {}, got '{}'{}", command.name, alternatives(argument.choices),
                    words[index], did_you_mean(words[index], choices)),
        usage);
  }
  const bool takes_all = !command.arguments.empty() && command.arguments.back().repeats;
  if (words.size() > command.arguments.size() && !takes_all) {
    fail_usage(fmt::format("unexpected argument '{}'", words[command.arguments.size()]), usage);
  }
}

}  // namespace

Arguments parse(const Command& command, std::span<const std::string> words) {
  const std::vector<Flag> flags = all_flags(command);
  Arguments arguments = Parser(flags, usage_of(command), false, command.refused).parse(words);
  // Whoever asks for help need not have the rest right.
  if (help_asked(arguments) != Help::none) return arguments;
  if (!takes_options_file(command)) {
    check_words(command, arguments);
    return arguments;
  }
  if (const auto file = arguments.value(options_flag)) {
    std::vector<std::string> all = words_of_options_file(command, arguments, std::string(*file));
    all.insert(all.end(), words.begin(), words.end());
    arguments = Parser(flags, usage_of(command), false, command.refused).parse(all);
  }
  check_words(command, arguments);
  return arguments;
}

void check_flag_words(const Command& command, std::span<const std::string> words) {
  const std::vector<Flag> flags = all_flags(command);
  Parser(flags, usage_of(command), false, command.refused).parse(words);
}

Arguments parse_program(std::span<const std::string> words) {
  return Parser(program_flags(), usage_of_program(), true).parse(words);
}

Help help_asked(const Arguments& arguments) {
  const auto spelling = arguments.value(help_flag);
  if (!spelling) return Help::none;
  return *spelling == "-h" ? Help::summary : Help::page;
}

std::string usage_of(const Command& command) {
  std::string usage = fmt::format("usage: strata {}", command.name);
  for (const Argument& argument : command.arguments) {
    const std::string_view more = argument.repeats ? "..." : "";
    usage += argument.is_required ? fmt::format(" {}{}", argument.name, more)
                                  : fmt::format(" [{}{}]", argument.name, more);
  }
  return usage + " [options]";
}

std::string usage_of_program() {
  return "usage: strata COMMAND [options]    (strata help lists the commands)";
}

}  // namespace strata
