// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace strata::keras {

/// What work in a child process may take.
struct ChildLimits {
  std::size_t memory_bytes = std::size_t{160} << 20;  ///< beyond what this process has
  int processor_s = 1;
  int wall_s = 10;  ///< a slow disk counts as well
};

/// Runs `work` in a copy of this process and gives what it returned. A library that crashes on a
/// file of strangers, or asks for all memory or time, ends the child only, and that is an Error of
/// kind input; an Error that work throws comes out as it is. `library` stands in messages.
std::string run_in_child(std::string_view library, const std::function<std::string()>& work,
                         const ChildLimits& limits = {});

}  // namespace strata::keras
