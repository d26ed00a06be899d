// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

/// How far a sweep has come where no row says so: a constraint may leave out many points in a row,
/// after they were computed.
namespace strata {

struct JournalMark {
  std::int64_t done = 0;      ///< points before this one are written or left out
  std::int64_t rows_end = 0;  ///< behind the last point that has a row
};

/// The mark in a file that begins with `head`; zeros when there is none that is whole.
JournalMark read_journal_mark(const std::filesystem::path& path, const std::string& head);

/// Writes it over and over in its place; one that is there stays until then.
class JournalMarkFile {
 public:
  JournalMarkFile(const std::filesystem::path& path, const std::string& head);
  ~JournalMarkFile();
  JournalMarkFile(const JournalMarkFile&) = delete;
  JournalMarkFile& operator=(const JournalMarkFile&) = delete;

  void set(const JournalMark& mark);

 private:
  int descriptor_ = -1;
  std::int64_t at_ = 0;  // behind the head
};

}  // namespace strata
