// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace strata {

/// "predicting GNMT, 3 s": one line on standard error for whoever waits, from the second second on,
/// only where standard error is a terminal. It goes when this ends.
class WaitingLine {
 public:
  explicit WaitingLine(std::string_view what);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  /// "what would change: 5 of 12"; from any thread.
  void show(std::string_view what);
  void show(std::string_view what, std::size_t done, std::size_t all);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable ended_;
  std::string what_;
  bool is_ended_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace strata
