// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.hpp"

#include "cli/exit_code.hpp"
#include "cli/guest.hpp"

#include <unistd.h>

#include <csignal>

namespace strata {
namespace {

volatile std::sig_atomic_t asked = 0;
void (*before_interrupt)(int) = SIG_DFL;
void (*before_terminate)(int) = SIG_DFL;

void ask(int) {
  if (asked != 0) ::_exit(exit_code::interrupted);
  asked = 1;
}

// Whoever started the program may want a signal ignored (nohup).
void (*watch(int signal))(int) {
  void (*const before)(int) = std::signal(signal, ask);
  if (before == SIG_IGN) std::signal(signal, SIG_IGN);
  return before;
}

}  // namespace

InterruptWatch::InterruptWatch() : guest_(this_guest()) {
  if (guest_ != nullptr) return;  // signals are the host program's
  asked = 0;
  before_interrupt = watch(SIGINT);
  before_terminate = watch(SIGTERM);
}

InterruptWatch::~InterruptWatch() {
  if (guest_ != nullptr) return;
  std::signal(SIGINT, before_interrupt);
  std::signal(SIGTERM, before_terminate);
}

bool InterruptWatch::was_asked() const {
  return guest_ != nullptr ? guest_->is_stopped.load() : asked != 0;
}

}  // namespace strata
