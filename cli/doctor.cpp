// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "strata/measure/readiness/readiness.hpp"
#include "strata/report/readiness_report.hpp"
#include "strata/report/write_file.hpp"

namespace strata {
namespace {

constexpr Flag doctor_json_flag{.name = "json",
                                .value = "FILE",
                                .help = "The findings as JSON; - is standard output.",
                                .offer = Offer::file};
constexpr Flag doctor_flags[] = {doctor_json_flag};

int run_doctor(const Request& request) {
  const std::vector<ReadyItem> items = readiness(this_computer());
  const auto path = request.arguments.value(doctor_json_flag);
  if (path) write_output(*path, to_json(items, {.command = request.command_line}));
  if (path != "-") print(to_text(items, request.style));
  return exit_code::done;
}

}  // namespace

constexpr Command doctor_command{.name = "doctor",
                                 .summary = "What this computer can measure, and why not the rest",
                                 .arguments = {},
                                 .flags = doctor_flags,
                                 .run = run_doctor};

}  // namespace strata
