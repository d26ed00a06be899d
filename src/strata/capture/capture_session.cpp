// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/capture_session.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace strata {
namespace {

/// In a child of fork() the locks may be held by threads that are not there.
std::atomic<bool> is_forked_child = false;

void note_forked_child() { is_forked_child = true; }

}  // namespace

void tell_on_stderr(std::string_view line) {
  std::string text = "strata capture: ";
  text.append(line).append("\n");
  // Nobody can be told that this failed.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

CaptureSession::CaptureSession(CaptureOptions options, LogPage page, ActivitySource& source,
                               std::function<void(LogWriter&)> on_open)
    : options_(std::move(options)),
      source_(source),
      log_(options_.log, page, std::move(on_open)),
      window_(options_),
      watches_ranges_(window_.watches_ranges()),
      pid_(::getpid()) {
  ::pthread_atfork(nullptr, nullptr, note_forked_child);
}

bool CaptureSession::begin() {
  if (!log_.open()) {
    tell_on_stderr("nothing is recorded: " + log_.problem());
    is_over_ = true;
    return false;
  }
  tell([](RecordingWindow& window, std::uint64_t now_ns) { return window.begin(now_ns); });
  // Signals are for the threads of the program.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([this] { run(); }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return true;
}

template <class Event>
void CaptureSession::tell(const Event& event) {
  if (is_over_ || is_forked_child) return;
  const std::uint64_t now_ns = source_.now_ns();
  const std::lock_guard lock(window_mutex_);
  apply(event(window_, now_ns), now_ns);
}

void CaptureSession::apply(WindowChange change, std::uint64_t now_ns) {
  if (change == WindowChange::none) return;
  const bool opens = change == WindowChange::opens;
  if (opens != is_open_.exchange(opens)) log_.note_window(opens, now_ns);
  if (opens) {
    must_stop_ = false;
    source_.start_recording();
  } else if (change == WindowChange::finishes) {
    must_finish_ = true;
  } else if (!watches_ranges_) {
    must_stop_ = true;  // ranges open again soon; what lies between them is left out afterwards
  }
}

void CaptureSession::profiler(bool is_on) {
  tell([=](RecordingWindow& window, std::uint64_t now) { return window.profiler(is_on, now); });
}
void CaptureSession::push(std::uint32_t thread, std::string_view name) {
  tell([=](RecordingWindow& window, std::uint64_t now) { return window.push(thread, name, now); });
}
void CaptureSession::pop(std::uint32_t thread) {
  tell([=](RecordingWindow& window, std::uint64_t now) { return window.pop(thread, now); });
}
void CaptureSession::start(std::uint64_t id, std::string_view name) {
  tell([=](RecordingWindow& window, std::uint64_t now) { return window.start(id, name, now); });
}
void CaptureSession::stop(std::uint64_t id) {
  tell([=](RecordingWindow& window, std::uint64_t now) { return window.stop(id, now); });
}

void CaptureSession::run() {
  while (!is_over_) {
    std::this_thread::sleep_for(period);
    tell([](RecordingWindow& window, std::uint64_t now_ns) { return window.tick(now_ns); });
    if (must_finish_) {
      finish();
    } else {
      fetch(false);
    }
  }
}

void CaptureSession::fetch(bool all) {
  const std::lock_guard lock(source_mutex_);
  if (is_over_) return;
  // Not all: kernels that still run would come without their times. They come when they are done.
  if (must_stop_.exchange(false)) source_.stop_recording();
  source_.flush(all);
  if (log_.hand_over()) return;
  is_over_ = true;
  source_.stop_recording();
  tell_on_stderr("recording stopped: " + log_.problem());
}

void CaptureSession::finish() {
  {
    const std::lock_guard lock(source_mutex_);
    if (is_over_) return;
    source_.stop_recording();
    // What was launched by now gets some time to run; what is still not done has no end to record.
    for (int turn = 0; turn < 5; ++turn) {
      source_.flush(false);
      std::this_thread::sleep_for(period);
    }
    source_.flush(true);
    is_over_ = true;
    log_.end(LogState::finished, options_.ends_program ? "as asked, the program was ended with it"
                                                       : "as asked; the program went on");
  }
  if (options_.ends_program) end_program();
}

void CaptureSession::end_program() {
  ::kill(::getpid(), SIGTERM);
  std::this_thread::sleep_for(std::chrono::seconds(5));
  ::kill(::getpid(), SIGKILL);  // it does not listen
}

void CaptureSession::end_of_program() {
  if (::getpid() != pid_) {  // a child: the thread stayed behind, and may hold the lock for ever
    log_.end(LogState::ended, {});
    return;
  }
  const std::lock_guard lock(source_mutex_);
  if (!is_over_.exchange(true)) source_.flush(true);
  log_.end(LogState::ended, {});
}

}  // namespace strata
