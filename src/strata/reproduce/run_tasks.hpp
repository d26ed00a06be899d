// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

namespace strata {

/// Runs independent tasks on all cores, in any order. Calls `progress`, if there is one, with the
/// share that is done, from the calling thread only. The first error ends everything and is thrown.
void run_tasks(const std::vector<std::function<void()>>& tasks,
               const std::function<void(double)>& progress);

}  // namespace strata
