// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/event_counters.hpp"

#include "strata/cpu/system_files.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

namespace strata::cpu {
namespace {

struct Event {
  std::uint64_t config = 0;
  std::optional<std::int64_t> EventCounts::*count = nullptr;
};
constexpr std::array<Event, 4> events = {
    {{PERF_COUNT_HW_CPU_CYCLES, &EventCounts::cycles},
     {PERF_COUNT_HW_INSTRUCTIONS, &EventCounts::instructions},
     {PERF_COUNT_HW_CACHE_REFERENCES, &EventCounts::cache_references},
     {PERF_COUNT_HW_CACHE_MISSES, &EventCounts::cache_misses}}};

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return number_; }

 private:
  int number_;
};

/// A counter of one thread; below 0: errno says why not.
int open_event(std::uint64_t config, pid_t thread) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = config;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;  // the only kind that ordinary users may have
  attributes.exclude_hv = 1;
  attributes.inherit = 1;  // and the threads it starts
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::vector<pid_t> threads_of_this_process() {
  std::vector<pid_t> threads;
  std::error_code problem;
  std::filesystem::directory_iterator entry("/proc/self/task", problem);
  for (; !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    if (const auto number = whole_number(entry->path().filename().string()))
      threads.push_back(static_cast<pid_t>(*number));
  }
  if (threads.empty()) threads.push_back(0);  // the one that asks
  return threads;
}

class PerfEvents final : public EventCounters {
 public:
  /// The error of the first counter that could not be had; 0: there is one at least.
  int open() {
    int first_error = 0;
    std::size_t opened = 0;
    for (const pid_t thread : threads_of_this_process()) {
      for (std::size_t i = 0; i < events.size(); ++i) {
        const int number = open_event(events[i].config, thread);
        if (number < 0 && first_error == 0) first_error = errno;
        if (number < 0) continue;
        counters_[i].emplace_back(number);
        ++opened;
      }
    }
    return opened > 0 ? 0 : first_error;
  }

  void start() override {
    for_all([](int counter) {
      ::ioctl(counter, PERF_EVENT_IOC_RESET, 0);
      ::ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
    });
    before_ = read_all();
  }

  EventCounts stop() override {
    for_all([](int counter) { ::ioctl(counter, PERF_EVENT_IOC_DISABLE, 0); });
    const std::vector<Reading> after = read_all();
    EventCounts counts;
    std::size_t at = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      double sum = 0;
      bool is_there = false;
      for (std::size_t k = 0; k < counters_[i].size(); ++k, ++at) {
        const Reading& first = before_[at];
        const Reading& last = after[at];
        const double running = static_cast<double>(last.running_ns - first.running_ns);
        const double enabled = static_cast<double>(last.enabled_ns - first.enabled_ns);
        const double value = static_cast<double>(last.value - first.value);
        if (!(enabled > 0)) {
          is_there = true;  // a thread that slept
          continue;
        }
        if (!(running > 0)) continue;
        is_there = true;
        sum += value * (enabled / running);
        if (running < enabled) counts.is_estimated = true;
      }
      if (is_there) counts.*events[i].count = static_cast<std::int64_t>(sum);
    }
    return counts;
  }

 private:
  struct Reading {
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;  // these two go on through a reset
    std::uint64_t running_ns = 0;
  };

  template <class Function>
  void for_all(const Function& function) const {
    for (const auto& of_event : counters_) {
      for (const Descriptor& counter : of_event) function(counter.get());
    }
  }
  std::vector<Reading> read_all() const {
    std::vector<Reading> readings;
    for_all([&](int counter) {
      Reading reading;
      if (::read(counter, &reading, sizeof reading) != static_cast<ssize_t>(sizeof reading))
        reading = {};
      readings.push_back(reading);
    });
    return readings;
  }

  std::array<std::vector<Descriptor>, events.size()> counters_;
  std::vector<Reading> before_;
};

}  // namespace

std::string event_problem_text(int error, std::optional<std::int64_t> paranoid) {
  switch (error) {
    case EACCES:
    case EPERM:
      if (paranoid && *paranoid > 2) {
        return fmt::format(
            "the kernel lets nobody but root count (kernel.perf_event_paranoid is {}); sysctl "
            "kernel.perf_event_paranoid=2 lets everybody count his own programs",
            *paranoid);
      }
      return "the system forbids perf_event_open (often a container's seccomp filter; start it "
             "with --cap-add PERFMON or --security-opt seccomp=unconfined)";
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return "the kernel offers no hardware counters of this processor; in a virtual machine the "
             "host has to pass them through (a virtual PMU)";
    case ENOSYS: return "this kernel has no perf_event";
    case EMFILE: return "too many open files; raise ulimit -n";
    default: return fmt::format("perf_event_open fails: {}", std::strerror(error));
  }
}

std::unique_ptr<EventCounters> open_event_counters(std::string& problem) {
  auto counters = std::make_unique<PerfEvents>();
  if (const int error = counters->open(); error != 0) {
    const auto line = first_line("/proc/sys/kernel/perf_event_paranoid");
    // It may be -1, which whole_number does not read and which forbids nothing.
    problem = event_problem_text(error, line ? whole_number(*line) : std::nullopt);
    return nullptr;
  }
  return counters;
}

}  // namespace strata::cpu
