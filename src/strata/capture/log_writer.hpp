// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/log_format.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace strata {

/// Appends to a log from inside the program that is watched: no exceptions, no output, one block of
/// memory and a bounded table of names. What `hand_over` returned from survives any end of the
/// process. Safe in several threads, and over fork(): the child begins a log of its own with its
/// first record.
class LogWriter {
 public:
  /// `path` may contain %p (process), %h (host) and %r (rank). The page is filled in except for
  /// what follows from the process. `on_open` is called for every log that is begun, a child's too,
  /// and appends what each must have.
  LogWriter(std::string path, LogPage page, std::function<void(LogWriter&)> on_open);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// Begins the log; whether it could. It is begun by the first record otherwise.
  bool open();

  template <class Record>
  void append(const Record& record) {
    append_bytes(&record, sizeof(Record));
  }
  /// A record whose text or numbers follow it, of a length that is a multiple of 8.
  void append_with(const void* record, std::size_t bytes, const void* more, std::size_t more_bytes);
  void append_text(LogKind kind, std::uint32_t value, std::string_view text);
  /// The number of a name, which is written down when it is new.
  std::uint32_t name_id(std::string_view name);
  void add_lost(std::uint64_t records, std::uint32_t reason);
  /// Recording was wanted at least once.
  void note_window(bool opens, std::uint64_t at_ns);

  /// Writes everything to the file. False: the write failed, and recording is over.
  bool hand_over();
  /// Closes the log with a reason; later records are ignored.
  void end(LogState state, std::string_view reason);

  bool is_over() const;
  LogState state() const;
  /// Why it ended early, for the person who waits; empty: it did not.
  std::string problem() const;
  std::string path() const;
  std::uint64_t bytes() const;

  /// Called by fork(); not by others.
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child();

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;
  static constexpr std::size_t most_name_bytes = std::size_t{32} << 20;

  bool open_locked();
  bool is_ready();
  void append_bytes(const void* record, std::size_t bytes);
  void append_locked(const void* record, std::size_t bytes);
  void append_text_locked(LogKind kind, std::uint32_t value, std::string_view text);
  bool write_block();
  bool write_page();
  void stop(LogState state, std::string_view reason);
  void set_reason(std::string_view reason);

  mutable std::recursive_mutex mutex_;
  const std::string pattern_;
  LogPage page_;
  std::function<void(LogWriter&)> on_open_;
  std::string path_;
  int file_ = -1;
  bool is_over_ = false;
  bool is_page_new_ = false;
  std::uint64_t written_ = 0;
  std::size_t used_ = 0;
  std::unique_ptr<char[]> block_;
  struct HashOfText {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::uint32_t, HashOfText, std::equal_to<>> names_;
  std::size_t name_bytes_ = 0;
  std::uint32_t next_name_ = 1;
};

}  // namespace strata
