// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/capture_options.hpp"
#include "strata/capture/log_writer.hpp"
#include "strata/capture/recording_window.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace strata {

/// A source of records: CUPTI, or a fake in tests. It appends its records to the session's log.
class ActivitySource {
 public:
  virtual ~ActivitySource() = default;
  /// The clock of the records.
  virtual std::uint64_t now_ns() = 0;
  /// Called inside a call of the watched program.
  virtual void start_recording() = 0;
  virtual void stop_recording() = 0;
  /// Makes records that are complete arrive; with `all` also those that are not.
  virtual void flush(bool all) = 0;
};

/// The recording of one process, from its first use of CUDA to its end. A thread of its own moves
/// records into the log ten times a second: a program that is killed loses no more than that.
class CaptureSession {
 public:
  CaptureSession(CaptureOptions options, LogPage page, ActivitySource& source,
                 std::function<void(LogWriter&)> on_open);
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;

  LogWriter& log() { return log_; }
  const CaptureOptions& options() const { return options_; }

  /// Begins the log. False: it could not, and a line on standard error said why.
  bool begin();
  /// The program ends; the last records are fetched and the log is closed.
  void end_of_program();

  // Events of the program; cheap where they are not recorded.
  void profiler(bool is_on);
  void push(std::uint32_t thread, std::string_view name);
  void pop(std::uint32_t thread);
  void start(std::uint64_t id, std::string_view name);
  void stop(std::uint64_t id);
  bool watches_ranges() const { return watches_ranges_; }
  bool is_open() const { return is_open_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::chrono::milliseconds period{100};

  template <class Event>
  void tell(const Event& event);
  void apply(WindowChange change, std::uint64_t now_ns);
  void run();
  void fetch(bool all);
  void finish();
  void end_program();

  const CaptureOptions options_;
  ActivitySource& source_;
  LogWriter log_;
  std::mutex window_mutex_;
  RecordingWindow window_;
  const bool watches_ranges_;
  std::mutex source_mutex_;  ///< one flush at a time, and none behind the last
  std::atomic<bool> is_open_ = false;
  std::atomic<bool> must_stop_ = false;  ///< the source, not in a call of the program
  std::atomic<bool> must_finish_ = false;
  std::atomic<bool> is_over_ = false;
  const std::int64_t pid_;
};

/// Writes a line to the standard error of the watched program. Only for problems that prevent the
/// recording: the user should learn of them at the start, not after hours.
void tell_on_stderr(std::string_view line);

}  // namespace strata
