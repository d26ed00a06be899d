// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/model_flags.hpp"
#include "cli/output.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/importers.hpp"
#include "strata/importers/network/network.hpp"
#include "strata/strata.hpp"

#include <algorithm>
#include <iterator>

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

/// Files of other programs, by how their names end: what is written is none of these.
constexpr std::string_view foreign_endings[] = {
    ".pt",   ".pth",     ".pb",   ".pbtxt", ".tflite", ".safetensors", ".caffemodel",
    ".gz",   ".weights", ".yaml", ".yml",   ".csv",    ".dot",         ".svg",
    ".html", ".mlmodel", ".gguf", ".bin",   ".zip"};

bool is_foreign(std::string_view lower_path) {
  constexpr std::string_view own = ".json";
  if (lower_path.ends_with(own)) return false;
  for (const Format& format : formats()) {
    for (const std::string_view ending : format.extensions)
      if (ending != own && lower_path.ends_with(ending)) return true;
  }
  return std::any_of(std::begin(foreign_endings), std::end(foreign_endings),
                     [&](std::string_view ending) { return lower_path.ends_with(ending); });
}

std::string_view output_path(const Arguments& given) {
  const auto path = given.value(output_flag);
  if (!path) {
    fail(ErrorKind::usage, "--out is missing: -o FILE, or -o - for standard output");
  }
  // The reader goes by the content, people and other programs by the name.
  if (is_foreign(lower_case(*path))) {
    fail(ErrorKind::usage,
         "--out {}: convert writes Strata's own format, as JSON, and no other; give the file a "
         "name in .json",
         *path);
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
