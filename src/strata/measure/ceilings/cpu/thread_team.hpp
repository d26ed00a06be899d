// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

/// Threads that are each pinned to a processor and start together. The caller is one of them: no
/// thread that only waits takes a processor from one that works.
namespace strata::cpu {

class ThreadTeam {
 public:
  /// One thread per processor. Where a thread cannot be pinned the team works on, and
  /// problem() says so.
  explicit ThreadTeam(std::span<const int> processors);
  ~ThreadTeam();  ///< lets the caller run where it might before
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(workers_.size()); }
  /// Why threads could not be pinned; empty when they are.
  const std::string& problem() const { return problem_; }

  /// Called in each thread with its number, from 0; must not throw.
  using Task = std::function<void(int worker)>;

  struct Span {
    double seconds = 0;         ///< from the first start to the last end
    bool is_disturbed = false;  ///< another thread had one of the processors meanwhile
  };
  /// The first `active` threads run the task, all starting at the same moment.
  Span run(const Task& task, int active);
  Span run(const Task& task) { return run(task, size()); }

  /// Seconds from handing a task that does nothing to all threads until all have done it.
  double handoff_s();

 private:
  struct alignas(128) Worker {
    int processor = 0;
    double start_s = 0, end_s = 0, cpu_s = 0;
    bool is_pinned = true;
  };
  void serve(int index);
  void work(int index);
  void wait_for(const std::atomic<int>& counter, int value) const;
  void start_all();
  void end();

  std::vector<Worker> workers_;
  std::vector<std::thread> threads_;
  std::vector<int> processors_before_;
  std::string problem_;
  const Task* task_ = nullptr;
  int active_ = 0;
  bool is_over_ = false;
  alignas(128) std::atomic<std::uint32_t> round_{0};
  alignas(128) std::atomic<int> arrived_{0};
  alignas(128) std::atomic<int> finished_{0};
};

}  // namespace strata::cpu
