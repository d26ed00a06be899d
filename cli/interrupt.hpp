// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace strata {

/// While it lives, Ctrl-C (or SIGTERM) is a wish to stop that the work looks at, so that it can
/// keep what is done. The second one ends the program at once.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool was_asked() const;
};

}  // namespace strata
