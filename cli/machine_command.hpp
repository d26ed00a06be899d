// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/machine/calibration.hpp"
#include "strata/machine/numbers.hpp"

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>

/// What `strata machine ACTION` can do. To add an action: cli/machine_<action>.cpp with its
/// MachineSubcommand, a line in machine_subcommands() and in the choices of cli/machine.cpp, and
/// its flags there.
namespace strata {

inline constexpr Flag machine_json_flag{.name = "json",
                                        .value = "FILE",
                                        .help = "The result as JSON; - is standard output.",
                                        .offer = Offer::output};
inline constexpr Flag machine_csv_flag{.name = "csv",
                                       .value = "FILE",
                                       .help = "list, show, diff: a line per number.",
                                       .offer = Offer::output};
inline constexpr Flag machine_output_flag{.name = "out",
                                          .letter = 'o',
                                          .value = "FILE",
                                          .help = "merge, measure, fit: the file to write.",
                                          .offer = Offer::output,
                                          .also = "output"};

inline constexpr Flag machine_device_flag{
    .name = "device", .value = "DEVICE", .help = "measure: all, cpu, cuda, cuda:N, cuda:all."};
inline constexpr Flag machine_quick_flag{
    .name = "quick", .help = "measure: fewer samples, in less than ten seconds."};

inline constexpr Flag machine_dry_run_flag{.name = "dry-run",
                                           .help = "measure: only say what would be measured."};

inline constexpr Flag machine_calibrate_flag{
    .name = "calibrate", .help = "measure: time kernels, too, for expected times."};
inline constexpr std::string_view calibrated_frameworks[] = {"strata", "pytorch-eager"};
inline constexpr Flag machine_framework_flag{
    .name = "framework",
    .value = "NAME",
    .help = "--calibrate: strata or, on a GPU, pytorch-eager.",
    .choices = calibrated_frameworks,
    .offer = Offer::choices};
inline constexpr Flag machine_only_flag{
    .name = "only", .value = "TEXT", .help = "--calibrate: only cases with TEXT in their names."};

inline constexpr Flag machine_from_flag{.name = "from",
                                        .value = "FILE",
                                        .help = "fit: a table of kernels or a truth set.",
                                        .offer = Offer::file,
                                        .repeats = true};
inline constexpr Flag machine_source_flag{
    .name = "source", .value = "TEXT", .help = "fit: where the tables are from."};
inline constexpr Flag machine_measured_on_flag{.name = "measured-on",
                                               .value = "MACHINE",
                                               .help = "fit: the card of the tables.",
                                               .offer = Offer::machine};

struct MachineSubcommand {
  std::string_view name;
  std::size_t least_machines = 0;
  std::size_t most_machines = std::numeric_limits<std::size_t>::max();
  std::span<const Flag> flags;  ///< which of the command's flags it takes
  int (*run)(const Request& request, std::span<const std::string> machines);
};

/// Every action, in the order in which help lists them.
std::span<const MachineSubcommand* const> machine_subcommands();

// Each lives in the file of its name.
extern const MachineSubcommand machine_list;
extern const MachineSubcommand machine_show;
extern const MachineSubcommand machine_diff;
extern const MachineSubcommand machine_merge;
extern const MachineSubcommand machine_measure;
extern const MachineSubcommand machine_fit;

/// "19.50 TFLOP/s", "40.00 MiB", "1.980 GHz": a number of a machine for people.
std::string quantity_text(Quantity quantity, double value);

/// Everything that is known of a machine, as `strata machine show` prints it.
std::string machine_text(const Machine& machine, const TextStyle& style);

/// How far each class of a calibration is off.
std::string fits_text(const Calibration& calibration, const TextStyle& style);

/// Where the rates and the memory come from: "measured", "published" (documents of vendors and
/// others), or "partly estimated" when no document has all of them.
std::string_view evidence_name(const Machine& machine);

}  // namespace strata
