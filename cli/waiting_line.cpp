// SPDX-License-Identifier: Apache-2.0
#include "cli/waiting_line.hpp"

#include "cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

namespace strata {

WaitingLine::WaitingLine(std::string_view what) : what_(what) {
  if (::isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { run(); });
}

WaitingLine::~WaitingLine() {
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void WaitingLine::show(std::string_view what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
}

void WaitingLine::show(std::string_view what, std::size_t done, std::size_t all) {
  show(fmt::format("{}: {} of {}", what, done, all));
}

void WaitingLine::run() {
  using Clock = std::chrono::steady_clock;
  constexpr auto before_first = std::chrono::seconds(1);
  constexpr auto between = std::chrono::milliseconds(200);
  const Clock::time_point begin = Clock::now();
  std::unique_lock lock(mutex_);
  const auto waited = [&](auto time) {
    return ended_.wait_for(lock, time, [&] { return is_ended_; });
  };
  if (waited(before_first)) return;
  do {
    const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin);
    print_to_stderr(fmt::format("\r\x1b[K{}, {} s", what_, elapsed.count()));
  } while (!waited(between));
  print_to_stderr("\r\x1b[K");
}

}  // namespace strata
