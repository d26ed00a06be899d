// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace strata {

/// Calls `work(begin, end)` for parts of 0 … count on several threads; the first exception comes
/// back when all have ended. A thread is begun for at least `least` of the count.
template <class Work>
void on_all_cores(std::int64_t count, std::int64_t least, const Work& work) {
  const std::int64_t cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const std::int64_t parts =
      std::clamp<std::int64_t>(count / std::max<std::int64_t>(1, least), 1, cores);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(parts));
  const auto run_part = [&](std::int64_t part) {
    try {
      work(count / parts * part + std::min(part, count % parts),
           count / parts * (part + 1) + std::min(part + 1, count % parts));
    } catch (...) {
      failures[static_cast<std::size_t>(part)] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::int64_t part = 1; part < parts; ++part) threads.emplace_back(run_part, part);
  run_part(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace strata
