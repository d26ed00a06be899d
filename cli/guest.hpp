// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>

/// Commands as guests inside another program, which has standard output and signals of its own: the
/// Python module runs them.
namespace strata {

/// What one command printed there, and the wish to stop it.
struct Guest {
  std::string output;    ///< instead of standard output
  std::string messages;  ///< instead of standard error
  std::atomic<bool> is_stopped = false;
};

/// Of the command that this thread runs; null in the program.
Guest* this_guest();

/// While it lives, the commands that this thread runs are guests.
class GuestRun {
 public:
  explicit GuestRun(Guest& guest);
  ~GuestRun();
  GuestRun(const GuestRun&) = delete;
  GuestRun& operator=(const GuestRun&) = delete;
};

}  // namespace strata
