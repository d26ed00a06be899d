// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace strata::cpu_training {

/// Has OpenMP use as many threads as this process may use CPUs, or as OMP_NUM_THREADS says if that
/// is fewer; returns how many. oneDNN and the plain loops share them.
int use_allowed_threads();

}  // namespace strata::cpu_training
