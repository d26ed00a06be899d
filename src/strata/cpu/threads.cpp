// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/threads.hpp"

#include "strata/base/error.hpp"
#include "strata/cpu/allowance.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <system_error>

namespace strata::cpu {
namespace {

/// Empty where the system does not tell.
std::vector<int> known_processors() {
  try {
    return allowed_processors();
  } catch (const Error&) {
    return {};
  }
}

/// Tells the core that nothing is to be done but wait.
void rest() {
#if defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#elif defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

int allowed_cpus() {
  const std::vector<int> known = known_processors();
  const auto all = static_cast<double>(known.empty() ? std::thread::hardware_concurrency()
                                                     : static_cast<unsigned>(known.size()));
  const double time_of = group_limits("/").processors.value_or(all);
  return std::max(1, static_cast<int>(std::min(all, time_of)));
}

Threads::Threads(int count)
    : waits_awake_(count <= allowed_cpus()), shares_(static_cast<std::size_t>(std::max(1, count))) {
  try {
    for (int thread = 1; thread < count; ++thread)
      workers_.emplace_back([this, thread] { work(thread); });
  } catch (const std::system_error& error) {
    end_workers();
    fail(ErrorKind::environment, "only {} of {} threads can be started: {}", workers_.size() + 1,
         count, error.what());
  }
  keep_apart();
}

/// Each worker on a CPU of its own, none on that of the caller, where they are as many as those:
/// the system may put a thread that it wakes up on the CPU of the one that woke it, where it waits
/// until that one is done.
void Threads::keep_apart() {
  std::vector<int> cpus = known_processors();
  const auto all = static_cast<int>(cpus.size());
  if (count() != all || allowed_cpus() != all) return;
  const auto own = std::find(cpus.begin(), cpus.end(), ::sched_getcpu());
  if (own != cpus.end()) std::iter_swap(cpus.begin(), own);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const int cpu = cpus[i + 1];
    if (cpu >= CPU_SETSIZE) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::pthread_setaffinity_np(workers_[i].native_handle(), sizeof one, &one);
  }
}

Threads::~Threads() { end_workers(); }

void Threads::end_workers() {
  is_ending_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Threads::for_each(std::int64_t count, const Body& body) {
  if (workers_.empty() || count <= 1) {
    for (std::int64_t index = 0; index < count; ++index) body(index, 0);
    return;
  }
  body_ = &body;
  const auto threads = static_cast<std::int64_t>(shares_.size());
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < threads; ++i) {
    Share& share = shares_[static_cast<std::size_t>(i)];
    share.next = begin;
    begin += count / threads + (i < count % threads ? 1 : 0);
    share.end = begin;
  }
  busy_ = static_cast<std::uint32_t>(workers_.size());
  failure_ = nullptr;
  ++round_;
  round_.notify_all();
  take_indices(0);
  for (std::uint32_t busy = busy_; busy != 0; busy = busy_) wait_while(busy_, busy);
  if (failure_) std::rethrow_exception(failure_);
}

void Threads::take_indices(int thread) {
  try {
    // Its own share first: what lies there it may have computed before, into a cache of its own.
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[(static_cast<std::size_t>(thread) + i) % shares_.size()];
      for (std::int64_t index; (index = share.next.fetch_add(1)) < share.end;) {
        (*body_)(index, thread);
      }
    }
  } catch (...) {
    const std::lock_guard lock(failing_);
    if (!failure_) failure_ = std::current_exception();
    for (Share& share : shares_) share.next = share.end;
  }
}

void Threads::work(int thread) {
  for (std::uint32_t seen = 0;;) {
    wait_while(round_, seen);
    if (is_ending_) return;
    ++seen;
    take_indices(thread);
    if (--busy_ == 0) busy_.notify_one();
  }
}

void Threads::wait_while(const Count& number, std::uint32_t value) const {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds awake(2);
  constexpr int rests_between_looks = 32;  // at the clock
  for (const auto start = Clock::now(); waits_awake_ && Clock::now() - start < awake;) {
    for (int i = 0; i < rests_between_looks; ++i) {
      if (number.load() != value) return;
      rest();
    }
    ::sched_yield();  // to a thread that has work for this core
  }
  number.wait(value);
}

}  // namespace strata::cpu
