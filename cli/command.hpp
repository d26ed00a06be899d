// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/text_style.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What a command is. One table of flags feeds the parser, -h, the man page and the completions, so
/// they cannot disagree; a test compares them. To add a command: cli/<name>.cpp, a line in
/// cli/commands.cpp, docs/cli/<name>.md.
namespace strata {

/// What a shell may offer while the value is typed. An output is a file that the command writes:
/// one that cannot be written is refused before the command begins.
enum class Offer { nothing, file, output, model, machine, command, choices };

/// A switch, or a flag that takes exactly one value.
struct Flag {
  std::string_view name;   ///< without the dashes: "batch"
  char letter = 0;         ///< short form; 0: none
  std::string_view value;  ///< what stands for the value in help: "N"; empty: a switch
  std::string_view help;   ///< one sentence
  std::span<const std::string_view> choices = {};  ///< the only values allowed; empty: any
  Offer offer = Offer::nothing;
  bool repeats = false;           ///< may be given several times; otherwise the last one counts
  std::string_view implied = {};  ///< the value where none follows; empty: one must
  std::string_view also = {};     ///< another name that is taken for it and not shown
};

/// A word without dashes.
struct Argument {
  std::string_view name;  ///< as help shows it: "MODEL"
  std::string_view help;
  std::span<const std::string_view> choices = {};
  Offer offer = Offer::nothing;
  bool is_required = true;
  bool repeats = false;  ///< the last one may: it takes all further words
};

/// What was typed after the command, sorted by flag.
class Arguments {
 public:
  explicit Arguments(std::span<const Flag> flags);

  bool has(const Flag& flag) const { return !values(flag).empty(); }
  /// The value given last.
  std::optional<std::string_view> value(const Flag& flag) const;
  /// Every value given, in order.
  const std::vector<std::string>& values(const Flag& flag) const;
  /// The index-th word without dashes; empty when there are fewer.
  std::string_view word(std::size_t index) const;
  const std::vector<std::string>& words() const { return words_; }

  void add(const Flag& flag, std::string value);
  void add_word(std::string word) { words_.push_back(std::move(word)); }

 private:
  std::vector<std::pair<std::string_view, std::vector<std::string>>>
      values_;  // by the name of the flag
  std::vector<std::string> words_;
};

/// What a command is asked to do.
struct Request {
  Arguments arguments;
  TextStyle style;                      ///< of standard output
  std::string command_line;             ///< ready to be run again
  std::vector<std::string> words = {};  ///< what was typed behind the program's name
};

struct RefusedFlag {
  std::string_view name;    ///< without the dashes
  std::string_view reason;  ///< and which command has it
};

struct Command {
  std::string_view name;
  std::string_view summary;  ///< one line, no full stop
  std::span<const Argument> arguments;
  std::span<const Flag> flags;  ///< its own; global_flags() come on top
  int (*run)(const Request& request);
  /// Flags of other commands that it cannot have, each with the reason.
  std::span<const RefusedFlag> refused = {};
  /// Says on a terminal that it works when it takes longer than a second (cli/progress.hpp). Not of
  /// commands that measure, which a second thread would disturb, and that show how far they are.
  bool shows_waiting = true;
};

/// Every command, in the order in which help lists them.
std::span<const Command* const> commands();
/// The command of that name; an error (usage) suggests the nearest.
const Command& command_named(std::string_view name);

/// Flags that every command takes.
std::span<const Flag> global_flags();
extern const Flag help_flag;
extern const Flag color_flag;
extern const Flag options_flag;
extern const Flag save_options_flag;

/// What `strata` takes before a command.
std::span<const Flag> program_flags();
extern const Flag version_flag;

/// Whether it takes --options and --save-options: all do that compute or show something.
bool takes_options_file(const Command& command);

/// A command's own flags, those of files of options, and the global ones.
std::vector<Flag> all_flags(const Command& command);

}  // namespace strata
