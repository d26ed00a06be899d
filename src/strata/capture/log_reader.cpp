// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/log_reader.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/capture/log_records.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <vector>

namespace strata {
namespace {

LogPage read_page(std::istream& stream) {
  LogPage page;
  stream.read(reinterpret_cast<char*>(&page), sizeof page);
  if (stream.gcount() < static_cast<std::streamsize>(log_magic.size()) || page.magic != log_magic)
    fail(ErrorKind::input, "not a log of strata capture");
  if (stream.gcount() < static_cast<std::streamsize>(sizeof page))
    fail(ErrorKind::input, "the log ends within its first page; nothing was recorded");
  if (page.version != log_version) {
    fail(ErrorKind::input, "the log has version {}, this program reads version {}", page.version,
         log_version);
  }
  if (page.page_bytes < sizeof page || page.page_bytes > (1U << 20))
    fail(ErrorKind::input, "the log's first page has {} bytes", page.page_bytes);
  stream.ignore(static_cast<std::streamsize>(page.page_bytes - sizeof page));
  return page;
}

std::string date_of(std::uint64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000U);
  if (seconds <= 0 || seconds > 4'000'000'000) return {};
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

std::string ending_of(const CaptureLog& log) {
  switch (log.state) {
    case LogState::recording:
      return "the program ended without cleaning up (killed, crashed or left at once); records of "
             "its last 0.1 s may be missing";
    case LogState::disk_full: return fmt::format("recording stopped early: {}", log.reason);
    case LogState::failed: return fmt::format("nothing could be recorded: {}", log.reason);
    default: return {};
  }
}

/// Up to the end, or to the first place that is not a record.
std::int64_t read_records(std::istream& stream, LogRecords& records) {
  std::vector<char> bytes;
  while (true) {
    LogHead head;
    stream.read(reinterpret_cast<char*>(&head), sizeof head);
    const std::streamsize got = stream.gcount();
    if (got == 0) return 0;
    std::int64_t torn = got;
    if (got == sizeof head && head.mark == log_mark && head.words > 0) {
      const std::size_t length = std::size_t{head.words} * 8;
      bytes.resize(length);
      std::memcpy(bytes.data(), &head, sizeof head);
      stream.read(bytes.data() + sizeof head, static_cast<std::streamsize>(length - sizeof head));
      torn += stream.gcount();
      if (torn == static_cast<std::int64_t>(length) && records.add(head, bytes)) continue;
    }
    // What follows a broken record cannot be told apart from it.
    while (stream.good()) {
      stream.ignore(1 << 20);
      torn += stream.gcount();
    }
    return torn;
  }
}

}  // namespace

bool is_capture_log(std::string_view first_bytes) {
  return first_bytes.starts_with(std::string_view(log_magic.data(), log_magic.size()));
}

CaptureLog read_capture_log(std::istream& stream) {
  const LogPage page = read_page(stream);
  CaptureLog log;
  log.state = page.state;
  log.reason.assign(page.reason.data(),
                    std::min<std::size_t>(page.reason_bytes, page.reason.size()));
  log.was_recording = page.was_recording != 0;
  log.cupti_version = page.cupti_version;
  log.driver_version = page.driver_version;
  Recording& recording = log.recording;
  recording.process.pid = page.pid;
  recording.process.rank = page.rank;
  recording.process.date = date_of(page.unix_ns);
  recording.process.source_format = "strata capture";
  recording.process.clock_is_unix = true;
  LogRecords records(recording, page);
  log.torn_bytes = read_records(stream, records);
  records.finish();
  recording.process.ending = ending_of(log);
  constexpr std::uint64_t most_lost = std::uint64_t{1} << 61;
  recording.lost_records = checked_add(
      records.lost(), static_cast<std::int64_t>(std::min(page.lost_records, most_lost)));
  if (records.untimed() > 0)
    recording.notes.push_back(
        fmt::format("{} records without a time were left out", records.untimed()));
  if (log.torn_bytes > 0)
    recording.notes.push_back(
        fmt::format("the last record of the log is torn; {} bytes were left out", log.torn_bytes));
  sort_by_start(recording);
  return log;
}

CaptureLog read_capture_log(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(ErrorKind::input, "{}: cannot be read", path.string());
  std::vector<char> buffer(std::size_t{1} << 20);
  stream.rdbuf()->pubsetbuf(buffer.data(), static_cast<std::streamsize>(buffer.size()));
  try {
    return read_capture_log(stream);
  } catch (Error& error) {
    error.add_context(path.string());
    throw;
  }
}

}  // namespace strata
