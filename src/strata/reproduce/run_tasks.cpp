// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/run_tasks.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace strata {

void run_tasks(const std::vector<std::function<void()>>& tasks,
               const std::function<void(double)>& progress) {
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> finished = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&](bool reports) {
    for (std::size_t i = next++; i < tasks.size(); i = next++) {
      try {
        tasks[i]();
        ++finished;
        if (reports && progress) {
          progress(static_cast<double>(finished) / static_cast<double>(tasks.size()));
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = tasks.size();
      }
    }
  };
  const std::size_t workers =
      std::min<std::size_t>(std::max(1U, std::thread::hardware_concurrency()), tasks.size());
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < workers; ++i) others.emplace_back(work, false);
    } catch (const std::system_error&) {
      // The system has no more threads: those that there are do the work.
    }
    work(true);
  }
  if (error) std::rethrow_exception(error);
  if (progress) progress(1);
}

}  // namespace strata
