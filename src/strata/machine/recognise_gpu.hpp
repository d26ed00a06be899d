// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"

#include <cstdint>
#include <string>

/// Which machine file is of a GPU that a recording names.
namespace strata {

/// What a recorder wrote down of a GPU; 0 and empty: nothing.
struct GpuFacts {
  std::string name;  ///< as the driver calls it: "NVIDIA A100-SXM4-80GB"
  std::int64_t memory_bytes = 0;
  std::int64_t multiprocessors = 0;
};

struct RecognisedGpu {
  const Machine* machine = nullptr;  ///< one that ships; nothing: it is not known
  std::string missing = {};          ///< why there is none, for people; empty where there is one
};

/// The shipped machine whose driver name is exactly this one, where memory and multiprocessors do
/// not contradict it. Nothing is guessed: a name that no rule has, a name that two machines share
/// without a number that tells them apart, and numbers that disagree give no machine.
RecognisedGpu recognise_gpu(const GpuFacts& gpu);

}  // namespace strata
