// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/kernel_class.hpp"
#include "strata/capture/kernel_origins.hpp"
#include "strata/capture/steps.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

/// The kernels of one step as the program launched them: which call of which module, in which pass,
/// in which order. What a network's layers are matched with.
namespace strata {

/// Kernels that were launched inside one range that holds no other range with kernels (a call of a
/// module), or one kernel that was launched outside of such ranges.
struct WorkCall {
  NameId layer = 0;              ///< in KernelOrigins::layers; 0: a kernel on its own
  NameId around = 0;             ///< of a kernel on its own: the range around it; 0: none
  std::size_t range = no_index;  ///< in Recording::ranges
  std::vector<std::size_t> kernels;

  bool is_loose() const { return layer == 0; }
};

struct StepWork {
  std::vector<WorkCall> forward;     ///< in the order of launches, as all three
  std::vector<WorkCall> backward;    ///< one call of a module may be several: a range per function
  std::vector<std::size_t> updates;  ///< kernels of the optimizer
  std::vector<std::size_t> collectives;  ///< communication: of no layer
};

/// What the kernels are; kernels that are not listed are left out. `classes` is by NameId. A kernel
/// outside of every call whose ranges do not tell its pass is backward where its thread runs
/// nothing else (PyTorch's autograd has a thread of its own), else as its name says.
StepWork step_work(const Recording& recording, const KernelOrigins& origins,
                   const std::vector<KernelClass>& classes,
                   const std::vector<std::size_t>& kernels);

/// What a profile is of: the kernels of the step of median length where steps were found, else all
/// of them. In their order in the recording.
struct ProfileKernels {
  std::vector<std::size_t> kernels;
  bool is_step = false;
};
ProfileKernels kernels_of_profile(const Recording& recording, const KernelOrigins& origins);

}  // namespace strata
