// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "strata/measure/readiness/readiness.hpp"
#include "strata/measure/training/checked_cells.hpp"
#include "strata/report/operator_check_report.hpp"
#include "strata/report/readiness_report.hpp"
#include "strata/report/write_file.hpp"

namespace strata {
namespace {

constexpr Flag doctor_json_flag{.name = "json",
                                .value = "FILE",
                                .help = "The findings as JSON; - is standard output.",
                                .offer = Offer::file};
constexpr Flag doctor_operators_flag{.name = "operators",
                                     .help = "Instead, the test behind each operator and pass."};
constexpr Flag doctor_flags[] = {doctor_json_flag, html_flag, doctor_operators_flag};

template <class Findings>
void show_findings(const Request& request, const Findings& findings) {
  show_document(request, doctor_json_flag,
                {.title = "What this computer can measure",
                 .json = [&] { return to_json(findings, {.command = request.command_line}); },
                 .text = [&] { return to_text(findings, request.style); }});
}

int run_doctor(const Request& request) {
  if (request.arguments.has(doctor_operators_flag)) {
    show_findings(request, checked_cells());
  } else {
    show_findings(request, readiness(this_computer()));
  }
  return exit_code::done;
}

}  // namespace

constexpr Command doctor_command{.name = "doctor",
                                 .summary = "What this computer can measure, and why not the rest",
                                 .arguments = {},
                                 .flags = doctor_flags,
                                 .run = run_doctor};

}  // namespace strata
