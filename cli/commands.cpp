// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"

#include "cli/help_topics.hpp"
#include "cli/parse.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

namespace strata {

std::span<const Command* const> commands() {
  static const std::array all = {
      &predict_command,  &sweep_command,     &measure_command, &record_command,  &capture_command,
      &conv_command,     &roofline_command,  &compare_command, &explain_command, &trace_command,
      &report_command,   &plot_command,      &show_command,    &convert_command, &machine_command,
      &validate_command, &reproduce_command, &list_command,    &doctor_command,  &setup_command,
      &help_command,     &generate_command};
  return all;
}

const Command& command_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Command* command : commands()) {
    if (command->name == name) return *command;
    names.emplace_back(command->name);
  }
  const bool is_topic = topic_page(name).has_value();
  fail(ErrorKind::usage, "no command named '{}'{}\n{}", name,
       is_topic ? fmt::format("; see strata help {}", name) : did_you_mean(name, names),
       usage_of_program());
}

namespace {

constexpr std::string_view color_choices[] = {"auto", "always", "never"};

}  // namespace

constexpr Flag help_flag{
    .name = "help", .letter = 'h', .help = "A summary (-h) or the whole page (--help)."};
constexpr Flag color_flag{.name = "color",
                          .value = "WHEN",
                          .help = "Color in the output: auto, always or never.",
                          .choices = color_choices,
                          .offer = Offer::choices};
constexpr Flag options_flag{.name = "options",
                            .value = "FILE",
                            .help = "Flags from a file (TOML, JSON); what is typed wins.",
                            .offer = Offer::file};
constexpr Flag save_options_flag{.name = "save-options",
                                 .value = "FILE",
                                 .help = "Write what was asked as such a file; - is stdout.",
                                 .offer = Offer::output};
constexpr Flag version_flag{
    .name = "version", .letter = 'V', .help = "The version of this program."};

std::span<const Flag> global_flags() {
  static constexpr std::array flags = {color_flag, help_flag};
  return flags;
}

std::span<const Flag> program_flags() {
  static constexpr std::array flags = {color_flag, help_flag, version_flag};
  return flags;
}

bool takes_options_file(const Command& command) {
  return &command != &setup_command && &command != &help_command && &command != &generate_command;
}

std::vector<Flag> all_flags(const Command& command) {
  std::vector<Flag> flags(command.flags.begin(), command.flags.end());
  if (takes_options_file(command)) flags.insert(flags.end(), {options_flag, save_options_flag});
  flags.insert(flags.end(), global_flags().begin(), global_flags().end());
  return flags;
}

}  // namespace strata
