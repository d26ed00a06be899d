// SPDX-License-Identifier: Apache-2.0
// Without OpenMP the plain loops run on one thread.
#include "strata/measure/cpu/threads.hpp"

namespace strata::cpu_training {

int use_allowed_threads() { return 1; }

}  // namespace strata::cpu_training
