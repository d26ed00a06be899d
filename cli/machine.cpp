// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/html_output.hpp"
#include "cli/machine_collectives.hpp"
#include "cli/machine_command.hpp"
#include "cli/parse.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/machine/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace strata {
namespace {

constexpr std::string_view machine_actions[] = {"list", "show", "diff", "merge", "measure", "fit"};

constexpr Argument machine_arguments[] = {{.name = "ACTION",
                                           .help = "list, show, diff, merge, measure or fit.",
                                           .choices = machine_actions,
                                           .offer = Offer::choices},
                                          {.name = "MACHINE",
                                           .help = "The name of a machine, or a machine file.",
                                           .offer = Offer::machine,
                                           .is_required = false,
                                           .repeats = true}};
constexpr Flag machine_action_flags[] = {
    machine_json_flag,    machine_csv_flag,         html_flag,
    machine_output_flag,  machine_device_flag,      machine_quick_flag,
    machine_dry_run_flag, machine_calibrate_flag,   machine_framework_flag,
    machine_only_flag,    machine_collectives_flag, machine_nccl_flag,
    machine_from_flag,    machine_source_flag,      machine_measured_on_flag};

std::string expected_machines(const MachineSubcommand& action) {
  if (action.most_machines == 0) return "no machine";
  const bool is_exact = action.least_machines == action.most_machines;
  return fmt::format("{}{} machine{}", is_exact ? "" : "at least ", action.least_machines,
                     action.least_machines == 1 ? "" : "s");
}

int run_machine(const Request& request) {
  const std::string_view name = request.arguments.word(0);
  const auto all = machine_subcommands();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const MachineSubcommand* each) { return each->name == name; });
  STRATA_CHECK(found != all.end(), "the choices are the names of the actions");
  const MachineSubcommand& action = **found;
  const auto machines = std::span(request.arguments.words()).subspan(1);
  if (machines.size() < action.least_machines || machines.size() > action.most_machines) {
    fail(ErrorKind::usage, "machine {} expects {}, got {}\n{}", name, expected_machines(action),
         machines.size(), usage_of(machine_command));
  }
  for (const Flag& flag : machine_action_flags) {
    const bool is_its_own = std::any_of(action.flags.begin(), action.flags.end(),
                                        [&](const Flag& own) { return own.name == flag.name; });
    if (request.arguments.has(flag) && !is_its_own)
      fail(ErrorKind::usage, "--{} does not go with machine {}", flag.name, name);
  }
  return action.run(request, machines);
}

}  // namespace

std::span<const MachineSubcommand* const> machine_subcommands() {
  static const std::array all = {&machine_list,  &machine_show,    &machine_diff,
                                 &machine_merge, &machine_measure, &machine_fit};
  return all;
}

std::string quantity_text(Quantity quantity, double value) {
  switch (quantity) {
    case Quantity::flop_per_s: return format_flop_per_s(value, 4);
    case Quantity::flop: return fmt::format("{:g} FLOP", value);
    case Quantity::bytes: return format_capacity(value, 4);
    case Quantity::bytes_per_s: return format_bytes_per_s(value, 4);
    case Quantity::seconds: return format_time(value);
    case Quantity::hertz: return format_count(value, 4) + "Hz";
    case Quantity::watt: return fmt::format("{:g} W", value);
    case Quantity::count: return fmt::format("{:g}", value);
  }
  return {};
}

std::string_view evidence_name(const Machine& machine) {
  if (machine.measured) return "measured";
  const auto is_estimated = [](const MachineNumber& each) {
    const bool is_used = each.path.starts_with("machine.peaks.")
                             ? each.quantity == Quantity::flop_per_s
                             : each.path.starts_with("machine.memory.");
    return is_used && each.number.source.starts_with("estimated");
  };
  const std::vector<MachineNumber> numbers = numbers_of(machine);
  return std::any_of(numbers.begin(), numbers.end(), is_estimated) ? "partly estimated"
                                                                   : "published";
}

constexpr Command machine_command{.name = "machine",
                                  .summary = "Machines: list, show, compare, measure, merge",
                                  .arguments = machine_arguments,
                                  .flags = machine_action_flags,
                                  .run = run_machine,
                                  .shows_waiting = false};

}  // namespace strata
