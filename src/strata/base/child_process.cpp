// SPDX-License-Identifier: Apache-2.0
#include "strata/base/child_process.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace strata {

std::optional<int> signal_of_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGFPE})
      std::signal(signal, SIG_DFL);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    work();
    ::_exit(0);  // of the child alone
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  return WIFSIGNALED(status) ? std::optional(WTERMSIG(status)) : std::nullopt;
}

}  // namespace strata
