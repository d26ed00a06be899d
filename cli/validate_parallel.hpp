// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"

#include <string>
#include <vector>

namespace strata {

/// Whether `strata validate` is asked for sets of many devices: "parallel", or one by its name.
bool names_parallel_sets(const std::vector<std::string>& names);
int validate_parallel_sets(const Request& request, const std::vector<std::string>& names);

}  // namespace strata
