// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/journal_mark.hpp"

#include "strata/base/error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace strata {
namespace {

struct StoredMark {
  JournalMark mark;
  std::uint64_t check = 0;
};

// Odd factors, so that a number that is wrong in one bit gives another check.
std::uint64_t check_of_mark(const JournalMark& mark) {
  return (static_cast<std::uint64_t>(mark.done) * 0x9e3779b97f4a7c15U) ^
         (static_cast<std::uint64_t>(mark.rows_end) * 0xc2b2ae3d27d4eb4fU) ^ 0x6b72616dU;
}

}  // namespace

JournalMark read_journal_mark(const std::filesystem::path& path, const std::string& head) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(head.size()));
  StoredMark stored;
  if (!file.read(reinterpret_cast<char*>(&stored), sizeof stored)) return {};
  return stored.check == check_of_mark(stored.mark) ? stored.mark : JournalMark{};
}

JournalMarkFile::JournalMarkFile(const std::filesystem::path& path, const std::string& head)
    : at_(static_cast<std::int64_t>(head.size())) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor_ < 0 || ::pwrite(descriptor_, head.data(), head.size(), 0) != at_)
    fail(ErrorKind::environment, "cannot write {}: {}", path.string(),
         std::generic_category().message(errno));
}

JournalMarkFile::~JournalMarkFile() { ::close(descriptor_); }

void JournalMarkFile::set(const JournalMark& mark) {
  const StoredMark stored{mark, check_of_mark(mark)};
  // A mark that could not be written costs time on resume, never a result: no reason to stop.
  static_cast<void>(::pwrite(descriptor_, &stored, sizeof stored, at_) == sizeof stored);
}

}  // namespace strata
