// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/thread_team.hpp"

#include "strata/base/error.hpp"
#include "strata/cpu/allowance.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <system_error>

namespace strata::cpu {
namespace {

constexpr int spins_before_sleep = 20'000;  // below a millisecond
constexpr int spins_before_yield = 2'000;
/// Of a thread's time; and what reading two clocks may take.
constexpr double most_lost_share = 0.02;
constexpr double most_lost_s = 5e-6;

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Lets this thread run on these processors only; the error number where it may not.
int pin_to(std::span<const int> processors) {
  const int most = 1 + *std::max_element(processors.begin(), processors.end());
  cpu_set_t* set = CPU_ALLOC(most);
  if (set == nullptr) return ENOMEM;
  const std::size_t bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(bytes, set);
  for (const int processor : processors) CPU_SET_S(processor, bytes, set);
  const int problem = pthread_setaffinity_np(pthread_self(), bytes, set);
  CPU_FREE(set);
  return problem;
}

}  // namespace

ThreadTeam::ThreadTeam(std::span<const int> processors) : workers_(processors.size()) {
  for (std::size_t i = 0; i < processors.size(); ++i) workers_[i].processor = processors[i];
  processors_before_ = allowed_processors();
  const int first = workers_.front().processor;
  if (const int problem = pin_to({&first, 1}); problem != 0)
    problem_ = fmt::format("threads could not be pinned to processors: {}", std::strerror(problem));
  try {
    for (int i = 1; i < size(); ++i) threads_.emplace_back([this, i] { serve(i); });
  } catch (const std::system_error& error) {
    end();
    fail(ErrorKind::environment, "only {} of {} threads can be started: {}", threads_.size() + 1,
         size(), error.what());
  }
  run([](int) {});  // all have tried to pin themselves
  for (const Worker& worker : workers_) {
    if (!worker.is_pinned && problem_.empty())
      problem_ = fmt::format("a thread could not be pinned to processor {}", worker.processor);
  }
}

ThreadTeam::~ThreadTeam() { end(); }

void ThreadTeam::end() {
  is_over_ = true;
  start_all();
  for (std::thread& thread : threads_) thread.join();
  pin_to(processors_before_);
}

void ThreadTeam::start_all() {
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void ThreadTeam::wait_for(const std::atomic<int>& counter, int value) const {
  for (int spins = 0; counter.load(std::memory_order_acquire) != value; ++spins) {
    relax();
    if (spins > spins_before_yield) std::this_thread::yield();
  }
}

void ThreadTeam::serve(int index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  worker.is_pinned = pin_to({&worker.processor, 1}) == 0;
  std::uint32_t seen = 0;
  while (true) {
    for (int spins = 0; spins < spins_before_sleep && round_.load() == seen; ++spins) relax();
    round_.wait(seen, std::memory_order_acquire);
    ++seen;
    if (is_over_) return;
    work(index);
    finished_.fetch_add(1, std::memory_order_acq_rel);
  }
}

void ThreadTeam::work(int index) {
  if (task_ == nullptr || index >= active_) return;
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  arrived_.fetch_add(1, std::memory_order_acq_rel);
  wait_for(arrived_, active_);
  worker.start_s = seconds_of(CLOCK_MONOTONIC);
  const double cpu_start_s = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  (*task_)(index);
  worker.cpu_s = seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu_start_s;
  worker.end_s = seconds_of(CLOCK_MONOTONIC);
}

ThreadTeam::Span ThreadTeam::run(const Task& task, int active) {
  task_ = &task;
  active_ = std::clamp(active, 1, size());
  arrived_.store(0);
  finished_.store(0);
  start_all();
  work(0);
  wait_for(finished_, size() - 1);
  task_ = nullptr;
  Span span;
  double first_s = workers_.front().start_s, last_start_s = first_s;
  double last_s = workers_.front().end_s;
  for (int i = 0; i < active_; ++i) {
    const Worker& worker = workers_[static_cast<std::size_t>(i)];
    first_s = std::min(first_s, worker.start_s);
    last_start_s = std::max(last_start_s, worker.start_s);
    last_s = std::max(last_s, worker.end_s);
    const double wall_s = worker.end_s - worker.start_s;
    span.is_disturbed |= wall_s - worker.cpu_s > most_lost_share * wall_s + most_lost_s;
  }
  span.seconds = last_s - first_s;
  // One that had lost its processor at the start began late.
  span.is_disturbed |= last_start_s - first_s > most_lost_share * span.seconds + most_lost_s;
  return span;
}

double ThreadTeam::handoff_s() {
  task_ = nullptr;
  finished_.store(0);
  const double start_s = seconds_of(CLOCK_MONOTONIC);
  start_all();
  wait_for(finished_, size() - 1);
  return seconds_of(CLOCK_MONOTONIC) - start_s;
}

}  // namespace strata::cpu
