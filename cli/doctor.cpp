// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "strata/measure/readiness/readiness.hpp"
#include "strata/report/readiness_report.hpp"
#include "strata/report/trained_networks.hpp"
#include "strata/report/write_file.hpp"

namespace strata {
namespace {

constexpr Flag doctor_json_flag{.name = "json",
                                .value = "FILE",
                                .help = "The findings as JSON; - is standard output.",
                                .offer = Offer::output};
constexpr Flag doctor_networks_flag{.name = "networks",
                                    .help = "Instead, every built-in network as it was trained."};
constexpr Flag doctor_flags[] = {doctor_json_flag, html_flag, doctor_networks_flag};

void show_readiness(const Request& request) {
  const auto findings = readiness(this_computer());
  show_document(request, doctor_json_flag,
                {.title = "What this computer can measure",
                 .json = [&] { return to_json(findings, {.command = request.command_line}); },
                 .text = [&] { return to_text(findings, request.style); }});
}

void show_networks(const Request& request) {
  const auto trained = shipped_trained_networks();
  show_document(request, doctor_json_flag,
                {.title = "Built-in networks as they were trained",
                 .json = [&] { return to_json(trained, {.command = request.command_line}); },
                 .text = [&] { return to_text(trained, request.style); }});
}

int run_doctor(const Request& request) {
  if (request.arguments.has(doctor_networks_flag)) {
    show_networks(request);
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
