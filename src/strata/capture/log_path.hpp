// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strata {

/// %p becomes the number of this process, %h the name of the computer, %r the rank (0 where there
/// is none), %% a percent sign.
std::string expanded_path(std::string_view pattern);

/// The rank of this process in a job of several, from what Open MPI, Slurm, PyTorch's torchrun and
/// MPICH set; -1: there is none.
std::int64_t rank_of_process();

std::string host_name();

}  // namespace strata
