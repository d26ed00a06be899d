// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include "strata/base/printable.hpp"
#include "strata/report/text_style.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace strata {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto between_lines = std::chrono::milliseconds(200);
constexpr auto a_second = std::chrono::seconds(1);

class Line {
 public:
  void show(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (!is_terminal_) return;
    said_ = text;
    if (has_line_ && Clock::now() - drawn_ < between_lines) return;
    draw(text);
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    erase();
    said_.clear();
  }

  /// False: nobody looks, a line is there already, as of another thread of a host program, or the
  /// system has no thread for it.
  bool start(std::string what) {
    const std::lock_guard lock(mutex_);
    if (!is_terminal_ || thread_) return false;
    what_ = std::move(what);
    begin_ = Clock::now();
    is_over_ = false;
    try {
      thread_.emplace([this] { tick(); });
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    ended_.notify_all();
    thread_->join();
    const std::lock_guard lock(mutex_);
    thread_.reset();
    said_.clear();
    erase();
  }

 private:
  void tick() {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, a_second, [this] { return is_over_; })) {
      const auto seconds =
          std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_).count();
      draw(said_.empty() ? fmt::format("{}: {} s", what_, seconds) : said_);
    }
  }

  void draw(std::string_view text) {
    winsize size{};
    const bool has_size = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    const std::size_t columns = has_size ? size.ws_col - 1U : 79U;
    write("\r\x1b[K" + shortened(printable(text), columns));
    has_line_ = true;
    drawn_ = Clock::now();
  }

  void erase() {
    if (has_line_) write("\r\x1b[K");
    has_line_ = false;
  }

  // Nobody is told when standard error cannot be written.
  static void write(const std::string& text) {
    static_cast<void>(::write(STDERR_FILENO, text.data(), text.size()) < 0);
  }

  const bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<std::thread> thread_;
  std::string what_;
  std::string said_;
  Clock::time_point begin_;
  Clock::time_point drawn_;
  bool has_line_ = false;
  bool is_over_ = false;
};

Line& line() {
  static Line only;
  return only;
}

}  // namespace

void show_progress(std::string_view text) { line().show(text); }

void show_progress(std::string_view what, std::size_t done, std::size_t all) {
  show_progress(fmt::format("{}: {} of {}", what, done, all));
}
void clear_progress() { line().clear(); }

Waiting::Waiting(std::string what) : is_shown_(line().start(std::move(what))) {}
Waiting::~Waiting() {
  if (is_shown_) line().stop();
}

}  // namespace strata
