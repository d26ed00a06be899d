// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "strata/api/page.hpp"

#include <fmt/format.h>

#include <optional>

namespace strata {
namespace {

constexpr Argument report_arguments[] = {{.name = "FILE",
                                          .help = "A result as JSON, or the points of a sweep.",
                                          .offer = Offer::file,
                                          .repeats = true}};
constexpr Flag report_out_flag{.name = "out",
                               .letter = 'o',
                               .value = "FILE",
                               .help = "The page; - is standard output. Default: report.html.",
                               .offer = Offer::file};
constexpr Flag title_flag{.name = "title", .value = "TEXT", .help = "What stands on top."};
constexpr Flag report_roofs_on_flag{.name = "on",
                                    .value = "MACHINE",
                                    .help = "Whose roofs; else the machine of each profile.",
                                    .offer = Offer::machine};
constexpr Flag report_flags[] = {report_out_flag, title_flag, report_roofs_on_flag};

int run_report(const Request& request) {
  const Arguments& given = request.arguments;
  const Provenance provenance{.command = request.command_line};
  const auto on = given.value(report_roofs_on_flag);
  const AskedRoofs asked{.on = on ? std::optional<std::string>(*on) : std::nullopt};
  std::vector<PageSection> parts;
  std::string names;
  for (const std::string& path : given.words()) {
    parts.push_back(page_part_of_file(path, asked, provenance));
    names += (names.empty() ? "" : ", ") + parts.back().name;
  }
  const std::string title(given.value(title_flag).value_or(names));
  const std::string out(given.value(report_out_flag).value_or("report.html"));
  write_output(out, page_text(title, parts));
  if (out != "-") print(fmt::format("written: {}\n", out));
  return exit_code::done;
}

}  // namespace

constexpr Command report_command{.name = "report",
                                 .summary = "Stored results as one page to look at and explore",
                                 .arguments = report_arguments,
                                 .flags = report_flags,
                                 .run = run_report};

}  // namespace strata
