// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Where `strata machine measure` keeps what it found out about this host, so that other commands
/// take it when no machine is named.
namespace strata {

/// Nothing when the environment names no folder (kept_folder).
std::optional<std::filesystem::path> measured_machines_folder();

/// The file of one part of a host: "node7-cpu.json", "node7-gpu0.json".
std::string measured_machine_file(std::string_view host, std::string_view part);

/// The file of this host's first GPU, or else of its CPU; nothing when neither was measured.
std::optional<std::filesystem::path> machine_at_hand();

/// All that were measured here, this host's before those of others with the same home, each name
/// once. Files that cannot be read are none.
std::vector<Machine> measured_machines();
/// As profiles name theirs.
std::optional<Machine> measured_machine_named(std::string_view name);

/// What is meant when nobody names a machine: that one, its title saying so, or else an H100.
Machine default_machine();

}  // namespace strata
