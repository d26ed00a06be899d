// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cpu/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace strata::cpu_training {

/// Shares loops among threads that wait for work. Work that is shared must not share again.
class Workers {
 public:
  explicit Workers(int count) : threads_(std::make_shared<cpu::Threads>(count)) {}

  std::int64_t count() const { return threads_->count(); }

  /// Calls work(index) for every index below count.
  template <class Work>
  void each(std::int64_t count, const Work& work) const {
    if (count == 1) return work(0);
    threads_->for_each(count, [&work](std::int64_t index, int) {
      work(index);
      // Others must not read what stores around the caches (result_stream.hpp) have not written
      // yet.
      std::atomic_thread_fence(std::memory_order_seq_cst);
    });
  }

  /// Calls work(begin, end) for consecutive parts of 0 … count of at least `least` each; several
  /// parts per thread, so that one that is held up does not hold up all.
  template <class Work>
  void ranges(std::int64_t count, std::int64_t least, const Work& work) const {
    constexpr std::int64_t parts_per_thread = 4;
    share(count, parts_of(count, least, parts_per_thread * this->count()),
          [&work](std::int64_t, std::int64_t begin, std::int64_t end) { work(begin, end); });
  }

  /// Calls work(part, begin, end) for at most as many parts as there are threads: for sums that
  /// each part makes on its own first.
  template <class Work>
  std::int64_t parts(std::int64_t count, std::int64_t least, const Work& work) const {
    const std::int64_t parts = parts_of(count, least, this->count());
    share(count, parts, work);
    return parts;
  }

 private:
  static std::int64_t parts_of(std::int64_t count, std::int64_t least, std::int64_t most) {
    return std::clamp<std::int64_t>(count / std::max<std::int64_t>(1, least), 1, most);
  }

  template <class Work>
  void share(std::int64_t count, std::int64_t parts, const Work& work) const {
    each(parts, [&](std::int64_t part) {
      work(part, count / parts * part + std::min(part, count % parts),
           count / parts * (part + 1) + std::min(part + 1, count % parts));
    });
  }

  std::shared_ptr<cpu::Threads> threads_;
};

/// A loop over so many numbers is worth a thread's while.
inline constexpr std::int64_t numbers_per_part = 16'384;

}  // namespace strata::cpu_training
