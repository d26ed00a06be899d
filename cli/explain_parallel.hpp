// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"

namespace strata {

/// `strata explain` of a model on a cluster, split by a strategy or by the best of all.
int explain_on_cluster(const Request& request);

}  // namespace strata
