// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/completions.hpp"
#include "cli/exit_code.hpp"
#include "cli/man_page.hpp"
#include "cli/output.hpp"

namespace strata {
namespace {

constexpr std::string_view generate_kinds[] = {"man", "bash", "zsh", "fish"};

constexpr Argument generate_arguments[] = {{.name = "WHAT",
                                            .help = "man, bash, zsh or fish.",
                                            .choices = generate_kinds,
                                            .offer = Offer::choices}};

int run_generate(const Request& request) {
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
                                   .arguments = generate_arguments,
                                   .flags = {},
                                   .run = run_generate,
                                   .shows_waiting = false};

}  // namespace strata
