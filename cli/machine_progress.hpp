// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>

namespace strata {

/// One line on a terminal that is written over and over; nothing elsewhere.
class MachineProgress {
 public:
  MachineProgress() = default;
  MachineProgress(const MachineProgress&) = delete;
  MachineProgress& operator=(const MachineProgress&) = delete;
  ~MachineProgress() { clear(); }

  void show(std::string_view what, double share) const {
    if (is_shown_) print_to_stderr(fmt::format("\r\033[K{:3.0f} % {}", 100 * share, what));
  }
  void clear() const {
    if (is_shown_) print_to_stderr("\r\033[K");
  }

 private:
  bool is_shown_ = isatty(STDERR_FILENO) == 1;
};

}  // namespace strata
