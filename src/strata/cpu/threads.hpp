// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace strata::cpu {

/// How many CPUs this process may use, by the time that its control groups leave to it, too.
int allowed_cpus();

/// Threads that wait for work, so that a convolution does not pay for starting them. For a moment
/// they wait awake: waking one up takes as long as a small layer.
class Threads {
 public:
  /// Called with an index and the number of the thread that runs it; 0 is the caller's.
  using Body = std::function<void(std::int64_t index, int thread)>;

  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body for every index below `count`, on all threads, and returns when all are done. The
  /// first exception is thrown again here.
  void for_each(std::int64_t count, const Body& body);

 private:
  using Count = std::atomic<std::uint32_t>;
  /// In a line of its own, as its thread writes it again and again.
  struct alignas(64) Share {
    std::atomic<std::int64_t> next = 0;
    std::int64_t end = 0;
  };

  void keep_apart();
  void end_workers();
  void work(int thread);
  void take_indices(int thread);
  /// Returns once the number is another one.
  void wait_while(const Count& number, std::uint32_t value) const;

  std::vector<std::thread> workers_;
  bool waits_awake_ = false;
  const Body* body_ = nullptr;
  std::vector<Share> shares_;  // of the indices, one for each thread
  Count round_ = 0;            // counted up when there is work, or when there will be none
  Count busy_ = 0;             // workers that are not done with this round
  std::atomic<bool> is_ending_ = false;
  std::mutex failing_;
  std::exception_ptr failure_;
};

}  // namespace strata::cpu
