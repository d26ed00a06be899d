// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"
#include "strata/profile/profile.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// A kernel that a profile is made of, and the row that it is in.
struct RowKernel {
  std::size_t kernel = 0;  ///< in Recording::kernels
  std::size_t row = 0;     ///< in Profile::rows
};

/// A recording as a measured Profile: a row per layer and pass, in the order in which they first
/// ran, of the step of median length where steps were found, else of the whole recording, and the
/// time of that from its first kernel to its last. A kernel outside of every range is a row of its
/// own name. FLOP and bytes are there where counters were read. Errors (input): no kernel was
/// recorded.
Profile profile_of(const Recording& recording);

struct ProfileWithKernels {
  Profile profile;
  std::vector<RowKernel> kernels;  ///< in their order in the recording
};
ProfileWithKernels profile_with_kernels(const Recording& recording);

/// Of a file; `name` of a network is not in it, so the file's is taken. Of several processes the
/// one with the most kernel time. Errors name the file.
Profile load_recorded_profile(const std::filesystem::path& path);

/// "max_pool_forward_nchw" of "void at::native::(anonymous namespace)::max_pool_…<float, float>(…".
std::string short_kernel_name(std::string_view name);

}  // namespace strata
