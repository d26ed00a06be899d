// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"

namespace strata {

inline constexpr Flag machine_collectives_flag{
    .name = "collectives", .help = "measure: what NCCL takes among this host's GPUs."};
inline constexpr Flag machine_nccl_flag{.name = "nccl",
                                        .value = "FILE",
                                        .help = "--collectives: the library, else libnccl.so.2.",
                                        .offer = Offer::file};

/// `strata machine measure --collectives`: a file of a cluster.
int measure_cluster(const Request& request);

}  // namespace strata
