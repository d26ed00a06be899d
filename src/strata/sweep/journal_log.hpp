// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/point_result.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

/// A file of computed points in whatever order they came, which survives being cut off anywhere:
/// every record carries its size and a checksum, and reading ends at the first that is not whole.
namespace strata {

/// Written by one worker; the system has a record when append() is over.
class JournalLog {
 public:
  /// Begins the file anew. Errors (environment) when it cannot be written.
  JournalLog(std::filesystem::path path, const std::string& head);
  ~JournalLog();
  JournalLog(const JournalLog&) = delete;
  JournalLog& operator=(const JournalLog&) = delete;

  void append(std::int64_t point, const PointResult& result);
  /// Forgets all records.
  void clear();

  std::int64_t bytes() const { return bytes_; }
  std::int64_t last_point() const { return last_point_; }  ///< the largest; −1: there is none

 private:
  void write(std::string_view bytes);

  std::filesystem::path path_;
  std::string head_;
  std::string record_;  // used again from call to call
  int descriptor_ = -1;
  std::int64_t bytes_ = 0;
  std::int64_t last_point_ = -1;
};

using TakePoint = std::function<void(std::int64_t point, PointResult result)>;

/// Hands out the whole records of a log. False: the file does not begin with `head`. A file that
/// was cut off within its head has no records.
bool read_journal_log(const std::filesystem::path& path, const std::string& head,
                      const TakePoint& take);

}  // namespace strata
