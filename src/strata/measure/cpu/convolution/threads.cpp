// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/convolution/threads.hpp"

#include <sched.h>

#include <algorithm>

namespace strata::cpu {

int allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

Threads::Threads(int count) {
  for (int thread = 1; thread < count; ++thread) {
    workers_.emplace_back([this, thread] { work(thread); });
  }
}

Threads::~Threads() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_work_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Threads::for_each(std::int64_t count, const Body& body) {
  if (workers_.empty() || count <= 1) {
    for (std::int64_t index = 0; index < count; ++index) body(index, 0);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    count_ = count;
    next_ = 0;
    busy_ = static_cast<int>(workers_.size());
    failure_ = nullptr;
    ++round_;
  }
  has_work_.notify_all();
  take_indices(0);
  std::unique_lock lock(mutex_);
  is_done_.wait(lock, [this] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void Threads::take_indices(int thread) {
  try {
    for (;;) {
      const std::int64_t index = next_.fetch_add(1);
      if (index >= count_) return;
      (*body_)(index, thread);
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    next_ = count_;
  }
}

void Threads::work(int thread) {
  std::uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      has_work_.wait(lock, [&] { return is_ending_ || round_ != seen; });
      if (is_ending_) return;
      seen = round_;
    }
    take_indices(thread);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) is_done_.notify_one();
  }
}

}  // namespace strata::cpu
