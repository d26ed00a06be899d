// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/log_writer.hpp"

#include "strata/capture/log_path.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

namespace strata {
namespace {

/// The writers of this process, for fork(). Never destroyed: a process may fork while it ends.
struct LogWriters {
  std::mutex mutex;
  std::vector<LogWriter*> all;
};

LogWriters& log_writers() {
  static LogWriters* const writers = new LogWriters;
  return *writers;
}

void prepare_fork() {
  log_writers().mutex.lock();
  for (LogWriter* writer : log_writers().all) writer->before_fork();
}
void after_fork_parent() {
  for (LogWriter* writer : log_writers().all) writer->after_fork_in_parent();
  log_writers().mutex.unlock();
}
void after_fork_child() {
  for (LogWriter* writer : log_writers().all) writer->after_fork_in_child();
  log_writers().mutex.unlock();
}

/// How many bytes went; errno is set where they are fewer. A limit on the size of files is looked
/// at first: to step over it ends a program.
std::size_t write_at(int file, const char* data, std::size_t bytes, std::uint64_t offset) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      offset + bytes > limit.rlim_cur) {
    errno = EFBIG;
    return 0;
  }
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t step =
        ::pwrite(file, data + done, bytes - done, static_cast<off_t>(offset + done));
    if (step < 0 && errno == EINTR) continue;
    if (step < 0) break;
    if (step == 0) {
      errno = ENOSPC;
      break;
    }
    done += static_cast<std::size_t>(step);
  }
  return done;
}

/// Records of a block that do not end within its first `written` bytes.
std::uint64_t records_behind(const char* block, std::size_t used, std::size_t written) {
  std::uint64_t records = 0;
  for (std::size_t at = 0; at + sizeof(LogHead) <= used;) {
    LogHead head;
    std::memcpy(&head, block + at, sizeof head);
    at += std::size_t{head.words} * 8;
    if (head.words == 0) break;
    if (at > written && head.kind != LogKind::name && head.kind != LogKind::info) ++records;
  }
  return records;
}

}  // namespace

LogWriter::LogWriter(std::string path, LogPage page, std::function<void(LogWriter&)> on_open)
    : pattern_(std::move(path)),
      page_(page),
      on_open_(std::move(on_open)),
      block_(std::make_unique<char[]>(block_bytes)) {
  static const int is_registered =
      ::pthread_atfork(prepare_fork, after_fork_parent, after_fork_child);
  static_cast<void>(is_registered);
  const std::lock_guard lock(log_writers().mutex);
  log_writers().all.push_back(this);
}

LogWriter::~LogWriter() {
  {
    const std::lock_guard lock(log_writers().mutex);
    std::erase(log_writers().all, this);
  }
  hand_over();
  if (file_ >= 0) ::close(file_);
}

void LogWriter::after_fork_in_child() {
  // The lock belongs to a thread that is not here, and what waits belongs to the parent.
  new (&mutex_) std::recursive_mutex;
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  used_ = 0;
  written_ = 0;
  names_.clear();
  name_bytes_ = 0;
  next_name_ = 1;
  page_.lost_records = 0;
  page_.was_recording = 0;
  // A parent that has nowhere to write has no children that have.
}

bool LogWriter::open() {
  const std::lock_guard lock(mutex_);
  return is_ready();
}

bool LogWriter::is_ready() { return !is_over_ && (file_ >= 0 || open_locked()); }

bool LogWriter::open_locked() {
  page_.pid = ::getpid();
  page_.parent_pid = ::getppid();
  page_.rank = rank_of_process();
  const std::string wanted = expanded_path(pattern_);
  // A process that becomes another program keeps its number.
  for (int attempt = 1; attempt <= 1000 && file_ < 0; ++attempt) {
    path_ = attempt == 1 ? wanted : wanted + "-" + std::to_string(attempt);
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file_ < 0 && errno != EEXIST) break;
  }
  if (file_ < 0) {
    stop(LogState::failed, path_ + ": " + std::strerror(errno));
    return false;
  }
  std::vector<char> page(log_page_bytes, '\0');
  std::memcpy(page.data(), &page_, sizeof page_);
  if (write_at(file_, page.data(), page.size(), 0) < page.size()) {
    const std::string reason = path_ + ": " + std::strerror(errno);
    ::unlink(path_.c_str());
    ::close(file_);
    file_ = -1;
    stop(LogState::disk_full, reason);
    return false;
  }
  written_ = log_page_bytes;
  if (on_open_) on_open_(*this);
  return true;
}

void LogWriter::append_bytes(const void* record, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  append_locked(record, bytes);
}

void LogWriter::append_locked(const void* record, std::size_t bytes) {
  append_with(record, bytes, nullptr, 0);
}

void LogWriter::append_with(const void* record, std::size_t bytes, const void* more,
                            std::size_t more_bytes) {
  const std::lock_guard lock(mutex_);
  if (!is_ready()) {
    ++page_.lost_records;
    is_page_new_ = true;
    return;
  }
  if (used_ + bytes + more_bytes > block_bytes && !write_block()) {
    ++page_.lost_records;
    return;
  }
  std::memcpy(block_.get() + used_, record, bytes);
  if (more_bytes > 0) std::memcpy(block_.get() + used_ + bytes, more, more_bytes);
  used_ += bytes + more_bytes;
}

void LogWriter::append_text(LogKind kind, std::uint32_t value, std::string_view text) {
  const std::lock_guard lock(mutex_);
  append_text_locked(kind, value, text);
}

void LogWriter::append_text_locked(LogKind kind, std::uint32_t value, std::string_view text) {
  text = text.substr(0, longest_log_record_bytes - 2 * sizeof(LogHead));
  // The length stands before the text: names may end in anything.
  const std::size_t words = (text.size() + 8 + 7) / 8;
  std::vector<char> body(words * 8, '\0');
  const std::uint64_t length = text.size();
  std::memcpy(body.data(), &length, sizeof length);
  std::memcpy(body.data() + 8, text.data(), text.size());
  const LogHead head{kind, log_mark, static_cast<std::uint16_t>(words + 1), value};
  append_with(&head, sizeof head, body.data(), body.size());
}

std::uint32_t LogWriter::name_id(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (!is_ready()) return 0;
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  if (name_bytes_ > most_name_bytes) {  // ranges that are numbered, for days: begin anew
    names_.clear();
    name_bytes_ = 0;
  }
  const std::uint32_t id = next_name_++;
  append_text_locked(LogKind::name, id, name);
  name_bytes_ += name.size() + 64;
  names_.emplace(name, id);
  return id;
}

void LogWriter::add_lost(std::uint64_t records, std::uint32_t reason) {
  if (records == 0) return;
  const std::lock_guard lock(mutex_);
  append(LogLost{log_head<LogLost>(LogKind::lost, reason), records});
}

void LogWriter::note_window(bool opens, std::uint64_t at_ns) {
  const std::lock_guard lock(mutex_);
  if (opens && page_.was_recording == 0) {
    page_.was_recording = 1;
    is_page_new_ = true;
  }
  append(LogWindow{log_head<LogWindow>(LogKind::window, opens ? 1 : 0), at_ns});
}

bool LogWriter::write_block() {
  if (used_ == 0) return true;
  const std::size_t done = write_at(file_, block_.get(), used_, written_);
  written_ += done;
  if (done == used_) {
    used_ = 0;
    return true;
  }
  const std::string reason = path_ + ": " + std::strerror(errno);
  page_.lost_records += records_behind(block_.get(), used_, done);
  used_ = 0;
  stop(LogState::disk_full, reason);
  return false;
}

bool LogWriter::write_page() {
  if (file_ < 0) return false;
  is_page_new_ = false;
  return write_at(file_, reinterpret_cast<const char*>(&page_), sizeof page_, 0) == sizeof page_;
}

bool LogWriter::hand_over() {
  const std::lock_guard lock(mutex_);
  if (file_ < 0) return !is_over_;
  const bool is_written = is_over_ || write_block();
  if (is_page_new_) write_page();
  return is_written && !is_over_;
}

void LogWriter::stop(LogState state, std::string_view reason) {
  is_over_ = true;
  page_.state = state;
  set_reason(reason);
  write_page();
}

void LogWriter::set_reason(std::string_view reason) {
  page_.reason_bytes = static_cast<std::uint32_t>(std::min(reason.size(), page_.reason.size()));
  std::copy_n(reason.begin(), page_.reason_bytes, page_.reason.begin());
}

void LogWriter::end(LogState state, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  if (is_over_) {
    write_page();  // the count of what was lost since
    return;
  }
  if (file_ < 0) return;  // a child that never had anything to record
  if (write_block()) stop(state, reason);
}

bool LogWriter::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

LogState LogWriter::state() const {
  const std::lock_guard lock(mutex_);
  return page_.state;
}

std::string LogWriter::problem() const {
  const std::lock_guard lock(mutex_);
  if (page_.state != LogState::disk_full && page_.state != LogState::failed) return {};
  return {page_.reason.data(), page_.reason_bytes};
}

std::string LogWriter::path() const {
  const std::lock_guard lock(mutex_);
  return path_;
}

std::uint64_t LogWriter::bytes() const {
  const std::lock_guard lock(mutex_);
  return written_ + used_;
}

}  // namespace strata
