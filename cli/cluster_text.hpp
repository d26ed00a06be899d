// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/cluster.hpp"
#include "strata/report/text_style.hpp"

#include <string>

namespace strata {

/// Nodes, links and their rates with sources, and what collectives take, as `strata machine show`
/// and `machine measure --collectives` print it.
std::string cluster_text(const Cluster& cluster, const TextStyle& style);

}  // namespace strata
