// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace strata {

/// `--on a100-80gb,h200`: the machines; one where there is no comma.
std::vector<std::string> machine_names(const Arguments& given);

inline constexpr Flag price_flag{
    .name = "price", .value = "P,P", .help = "Per device and hour; of several machines each."};

/// One network on several machines, as one table: which one to rent.
int predict_on_machines(const Request& request, const std::vector<std::string>& machines);

}  // namespace strata
