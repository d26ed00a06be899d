// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/model_flags.hpp"
#include "cli/output.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/network/network.hpp"
#include "strata/strata.hpp"

namespace strata {
namespace {

constexpr Flag output_flag{.name = "out",
                           .letter = 'o',
                           .value = "FILE",
                           .help = "Where the network goes; - is standard output.",
                           .offer = Offer::output,
                           .also = "output"};

constexpr Argument convert_arguments[] = {model_argument};
constexpr auto convert_flags = joined_flags(std::array<Flag, 1>{output_flag}, import_flags);

std::string_view output_path(const Arguments& given) {
  const auto path = given.value(output_flag);
  if (!path) {
    fail(ErrorKind::usage, "--out is missing: -o FILE, or -o - for standard output");
  }
  // The reader goes by the content, people by the name.
  if (lower_case(*path).ends_with(".toml")) {
    fail(ErrorKind::usage, "--out {}: Strata writes JSON; give the file a name in .json", *path);
  }
  return *path;
}

int run_convert(const Request& request) {
  const std::string_view path = output_path(request.arguments);
  const Graph graph = load_model(request.arguments.word(0), import_options(request.arguments));
  const std::string text = write_network(graph);
  warn(graph.warnings);
  write_output(path, text);
  return exit_code::done;
}

}  // namespace

constexpr Command convert_command{
    .name = "convert",
    .summary = "A network in Strata's own format, which any build reads",
    .arguments = convert_arguments,
    .flags = convert_flags,
    .run = run_convert};

}  // namespace strata
