// SPDX-License-Identifier: Apache-2.0
// `setup` has to work before there is a program, so the launcher ./strata of the source tree does
// it (tools/setup.sh). It stands in the table for help and completions; the program itself can only
// say where it is.
#include "cli/commands.hpp"
#include "strata/base/error.hpp"

namespace strata {
namespace {

constexpr Flag setup_flags[] = {
    {.name = "all", .help = "Install the missing packages, the optional ones included."},
    {.name = "dry-run", .help = "Only print the command that would install them."},
};

int run_setup(const Request&) {
  fail(ErrorKind::environment, "setup belongs to the source tree: run ./strata setup there");
}

}  // namespace

constexpr Command setup_command{
    .name = "setup",
    .summary = "Packages that Strata uses (from the source tree: ./strata setup)",
    .arguments = {},
    .flags = setup_flags,
    .run = run_setup,
    .shows_waiting = false};

}  // namespace strata
