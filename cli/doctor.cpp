// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "strata/measure/engine/checked_cells.hpp"
#include "strata/measure/readiness/readiness.hpp"
#include "strata/report/operator_check_report.hpp"
#include "strata/report/readiness_report.hpp"
#include "strata/report/write_file.hpp"

namespace strata {
namespace {

constexpr Flag doctor_json_flag{.name = "json",
                                .value = "FILE",
                                .help = "The findings as JSON; - is standard output.",
                                .offer = Offer::file};
constexpr Flag doctor_operators_flag{
    .name = "operators", .help = "Instead, the test behind each operator; networks trained."};
constexpr Flag doctor_flags[] = {doctor_json_flag, html_flag, doctor_operators_flag};

void show_readiness(const Request& request) {
  const auto findings = readiness(this_computer());
  show_document(request, doctor_json_flag,
                {.title = "What this computer can measure",
                 .json = [&] { return to_json(findings, {.command = request.command_line}); },
                 .text = [&] { return to_text(findings, request.style); }});
}

/// What stands behind the numbers of `strata measure`: tests of operators, networks trained.
void show_evidence(const Request& request) {
  const auto cells = checked_cells();
  const auto trained = shipped_trained_networks();
  show_document(
      request, doctor_json_flag,
      {.title = "What stands behind measured training",
       .json = [&] { return to_json(cells, trained, {.command = request.command_line}); },
       .text =
           [&] { return to_text(cells, request.style) + "\n" + to_text(trained, request.style); }});
}

int run_doctor(const Request& request) {
  if (request.arguments.has(doctor_operators_flag)) {
    show_evidence(request);
  } else {
    show_readiness(request);
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
