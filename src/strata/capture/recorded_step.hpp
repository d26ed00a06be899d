// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/kernel_origins.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/profile/profile.hpp"

#include <vector>

namespace strata {

/// Sets the one time of a profile that was made of these kernels of a recording: from the first of
/// them to the last, with the moments in which none ran by their causes, what the host took, and
/// each row's part where kernels ran at once. `is_step`: they are a step, else all of the
/// recording. Does nothing where the recording does not say when kernels ran, or ran them one by
/// one to count.
void set_recorded_step(const Recording& recording, const KernelOrigins& origins,
                       const std::vector<RowKernel>& kernels, bool is_step, Profile& profile);

}  // namespace strata
