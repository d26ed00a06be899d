// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/threads.hpp"
#include "strata/measure/cpu/threads.hpp"

#include <omp.h>

#include <algorithm>

namespace strata::cpu_training {

int use_allowed_threads() {
  const int count = std::min(omp_get_max_threads(), cpu::allowed_cpus());
  // OpenMP ends the program where it cannot start them: this says how many there are instead.
  const cpu::Threads probe(count);
  omp_set_num_threads(count);
  return count;
}

}  // namespace strata::cpu_training
