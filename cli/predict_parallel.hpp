// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"

namespace strata {

inline constexpr Flag parallel_flag{.name = "parallel",
                                    .value = "SPLIT",
                                    .help = "Over many devices: dp=8,tp=8,pp=2,micro=4, or auto."};

/// `strata predict` of a cluster: one strategy, or the best of all.
int predict_on_cluster(const Request& request);

/// Whether --parallel or --on asks for many devices.
bool asks_for_cluster(const Arguments& given);

}  // namespace strata
