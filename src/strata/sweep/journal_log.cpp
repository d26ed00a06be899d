// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/journal_log.hpp"

#include "strata/base/error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <system_error>

namespace strata {
namespace {

struct RecordHead {
  std::uint32_t bytes;  // that follow
  std::uint32_t check;  // of the point and what follows
  std::int64_t point;
};

std::uint32_t check_of(std::int64_t point, std::string_view body) {
  std::uint32_t value = 0x811c9dc5;  // FNV-1a
  const auto add = [&](std::string_view bytes) {
    for (const char c : bytes) value = (value ^ static_cast<unsigned char>(c)) * 0x01000193U;
  };
  add({reinterpret_cast<const char*>(&point), sizeof point});
  add(body);
  return value;
}

}  // namespace

JournalLog::JournalLog(std::filesystem::path path, const std::string& head)
    : path_(std::move(path)), head_(head) {
  // A new file, not the old one emptied: that could have a second name elsewhere.
  ::unlink(path_.c_str());
  descriptor_ =
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND | O_NOFOLLOW, 0600);
  if (descriptor_ < 0)
    fail(ErrorKind::environment, "cannot write {}: {}; one thread (-j 1) does without it",
         path_.string(), std::generic_category().message(errno));
  write(head_);
}

JournalLog::~JournalLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void JournalLog::append(std::int64_t point, const PointResult& result) {
  const std::string body = packed(std::span(&result, 1));
  const RecordHead head{static_cast<std::uint32_t>(body.size()), check_of(point, body), point};
  record_.assign(reinterpret_cast<const char*>(&head), sizeof head);
  record_ += body;
  write(record_);
  last_point_ = std::max(last_point_, point);
}

void JournalLog::clear() {
  if (::ftruncate(descriptor_, 0) != 0)
    fail(ErrorKind::environment, "cannot write {}: {}", path_.string(),
         std::generic_category().message(errno));
  bytes_ = 0;
  last_point_ = -1;
  write(head_);
}

void JournalLog::write(std::string_view bytes) {
  bytes_ += static_cast<std::int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR)
      fail(ErrorKind::environment, "cannot write {}: {}", path_.string(),
           std::generic_category().message(errno));
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

bool read_journal_log(const std::filesystem::path& path, const std::string& head,
                      const TakePoint& take) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  std::string begin(head.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  if (begin != head) return head.starts_with(begin);
  constexpr std::uint32_t most_bytes = 1 << 20;  // an error text is far shorter
  std::string body;
  RecordHead record{};
  while (file.read(reinterpret_cast<char*>(&record), sizeof record)) {
    if (record.bytes > most_bytes) break;
    body.resize(record.bytes);
    if (!file.read(body.data(), record.bytes)) break;
    if (check_of(record.point, body) != record.check) break;
    std::optional<PointResult> result = unpacked_one(body);
    if (!result) break;
    take(record.point, *std::move(result));
  }
  return true;
}

}  // namespace strata
