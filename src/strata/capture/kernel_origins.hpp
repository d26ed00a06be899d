// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Where in the program a kernel comes from: the call that launched it, the ranges that were open
/// on that thread then, and the step.
namespace strata {

inline constexpr std::size_t no_index = std::numeric_limits<std::size_t>::max();

enum class WorkPass : std::uint8_t { unknown, forward, backward, update };

struct KernelOrigin {
  std::size_t call = no_index;  ///< in Recording::calls
  NameId layer = 0;             ///< the innermost range, in KernelOrigins::layers; 0: none was open
  std::size_t range = no_index;  ///< in Recording::ranges: the one that gave the layer; no_index
                                 ///< where it was another's (a backward operator's forward one)
  WorkPass pass = WorkPass::unknown;
};

struct KernelOrigins {
  NameTable layers;
  std::vector<KernelOrigin> of_kernel;  ///< one per kernel, in their order
};

/// The call that launched a piece of work, by its correlation.
class LaunchCalls {
 public:
  explicit LaunchCalls(const Recording& recording);

  /// no_index where it is not known.
  std::size_t call_of(std::uint64_t correlation) const;

 private:
  std::unordered_map<std::uint64_t, std::size_t> by_correlation_;
};

/// A layer is the innermost NVTX range or module
/// ("nn.Module: Conv2d_0"); where none is open, the innermost operator of the framework; else the
/// innermost range of the user. Marks of steps are no layers. A backward kernel whose operator has
/// the sequence number of a forward one that has such a layer belongs to that layer.
KernelOrigins origins_of_kernels(const Recording& recording, const LaunchCalls& calls);

/// What a range's name says besides the name of a layer: "conv1 backward" is the backward pass of
/// conv1; "aten::conv2d, seq = 5, op_id = 3" has a sequence number.
struct RangeWords {
  std::string layer;
  WorkPass pass = WorkPass::unknown;
  std::uint64_t sequence = 0;
};
RangeWords words_of_range(std::string_view name);

/// "ProfilerStep#3", "step 3", "iteration_12".
bool is_step_mark(std::string_view name);

}  // namespace strata
