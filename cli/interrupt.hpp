// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace strata {

struct Guest;

/// While it lives, Ctrl-C (or SIGTERM) is a wish to stop that the work looks at, so that it can
/// keep what is done. The second one ends the program at once. A command that is a guest is stopped
/// by its caller instead.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool was_asked() const;

 private:
  Guest* guest_;
};

}  // namespace strata
