// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A machine from what people type: one that ships, a file of their own, or either of them with
/// some numbers changed.
namespace strata {

/// The shipped machine of that name, or a machine file. What holds a '/' or ends in .json is a
/// file. Errors name the file, or suggest the nearest names.
Machine load_machine(std::string_view name_or_path);

/// The same for a name that stands in a file, as that of a profile's machine: a pipe or a device is
/// refused (input), as whoever sent the file must not make others wait for it.
Machine load_recorded_machine(std::string_view name_or_path);

/// Asked for a name that no shipped machine has: finds machines of the user. To
/// be set before machines are loaded.
using FindMachine = std::function<std::optional<Machine>(std::string_view name)>;
void also_find_machines(FindMachine find);

/// Every number of a machine that may be changed, by its dotted path:
/// "machine.memory.l2.capacity_bytes".
std::vector<std::string> fields_of(const Machine& machine);

/// Changes one number: "machine.memory.L2.capacity_bytes=128MiB",
/// "machine.peaks.fp32.vector.flop_per_s=20TFLOP/s". Case does not matter, and '_' stands for a
/// space in a name. The source of the number then says who set it. Errors (usage) list the fields
/// that exist.
void set_field(Machine& machine, std::string_view assignment);

}  // namespace strata
