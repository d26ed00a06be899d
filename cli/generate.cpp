// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/completions.hpp"
#include "cli/exit_code.hpp"
#include "cli/man_page.hpp"
#include "cli/output.hpp"

namespace strata {
namespace {

constexpr std::string_view kinds[] = {"man", "bash", "zsh", "fish"};

constexpr Argument arguments[] = {
    {.name = "WHAT", .help = "man, bash, zsh or fish.", .choices = kinds, .offer = Offer::choices}};

int run(const Request& request) {
  const std::string_view kind = request.arguments.word(0);
  print(kind == "man"    ? man_page()
        : kind == "bash" ? bash_completion()
        : kind == "zsh"  ? zsh_completion()
                         : fish_completion());
  return exit_code::done;
}

}  // namespace

constexpr Command generate_command{.name = "generate",
                                   .summary = "The man page, or completions for a shell",
                                   .arguments = arguments,
                                   .flags = {},
                                   .run = run};

}  // namespace strata
