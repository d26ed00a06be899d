// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

/// The log that the injected library appends to while a program runs: a first page, then records
/// one behind the other, each a multiple of 8 bytes. It is made for the program that is watched
/// (one copy per record, nothing to look up, no library), and for a sudden end: whatever was handed
/// to the system is whole up to a record that is torn. Numbers are little-endian; texts are UTF-8.
///
/// A reader skips kinds that it does not know: a record says its own length. The version changes
/// when a kind that exists changes.
namespace strata {

inline constexpr std::array<char, 8> log_magic = {'S', 'T', 'R', 'A', 'T', 'A', 'L', 'G'};
inline constexpr std::uint32_t log_version = 1;
inline constexpr std::uint32_t log_page_bytes = 4096;
inline constexpr std::uint8_t log_mark = 0xA5;  ///< in every record; a place without is torn
inline constexpr std::uint32_t longest_log_record_bytes = 65535U * 8;

/// How recording ended. A log that still says `recording` belongs to a program that runs, or to one
/// that was killed, crashed or left without cleaning up.
enum class LogState : std::uint32_t {
  recording = 0,
  ended = 1,      ///< the program ended
  finished = 2,   ///< what was asked for is there; the program went on
  disk_full = 3,  ///< nothing could be written any more
  failed = 4      ///< the reason is in the text
};

/// The first page. Its second part is written again in place, which a full disk allows.
struct LogPage {
  std::array<char, 8> magic = log_magic;
  std::uint32_t version = log_version;
  std::uint32_t page_bytes = log_page_bytes;  ///< where records begin
  std::int64_t pid = 0;
  std::int64_t parent_pid = 0;
  std::int64_t rank = -1;
  std::uint64_t recorder_ns = 0;  ///< the clock of the records, …
  std::uint64_t unix_ns = 0;      ///< … and nanoseconds since 1970, at the same moment
  std::uint32_t cupti_version = 0;
  std::uint32_t driver_version = 0;
  // From here on as it is now.
  std::uint64_t lost_records = 0;  ///< that there was no room for
  LogState state = LogState::recording;
  std::uint32_t reason_bytes = 0;
  std::array<char, 1024> reason = {};
  std::uint32_t was_recording = 0;  ///< whether a window of recording ever opened
  std::uint32_t reserved = 0;
};
static_assert(sizeof(LogPage) == 80 + 1024 + 8 && sizeof(LogPage) <= log_page_bytes);

enum class LogKind : std::uint8_t {
  name = 1,     ///< text; value: its number from here on
  info = 2,     ///< text; value: LogInfo
  kernel = 3,   ///< LogKernel
  copy = 4,     ///< LogCopy
  fill = 5,     ///< LogFill
  memory = 6,   ///< LogMemory
  runtime = 7,  ///< LogCall
  driver = 8,   ///< LogCall
  sync = 9,     ///< LogSync
  marker = 10,  ///< LogMarker
  overhead = 11,
  device = 12,
  context = 13,
  window = 14,  ///< LogWindow: recording is wanted from here, or up to here
  lost = 15,    ///< LogLost
  counted = 16  ///< LogCounted, and as many doubles
};

enum class LogInfo : std::uint32_t { command = 1, host = 2, folder = 3, note = 4, counters = 5 };

struct LogHead {
  LogKind kind = {};
  std::uint8_t mark = log_mark;
  std::uint16_t words = 0;  ///< of 8 bytes, this one included
  std::uint32_t value = 0;  ///< what it means depends on the kind
};

struct LogKernel {
  LogHead head;  ///< value: name
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t graph_node = 0;
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::array<std::uint32_t, 3> grid = {};
  std::array<std::uint32_t, 3> block = {};
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t registers = 0;
  std::uint32_t graph = 0;
  std::array<std::uint16_t, 3> cluster = {};
  std::uint16_t launch_type = 0;
};

struct LogCopy {
  LogHead head;  ///< value: kind, source << 8, destination << 16 as CUPTI numbers them
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t graph_node = 0;
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint32_t peer_device = 0xffffffffU;
};

struct LogFill {
  LogHead head;  ///< value: kind of memory
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t graph_node = 0;
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  std::uint32_t reserved = 0;
};

struct LogMemory {
  LogHead head;  ///< value: operation (1 allocation, 2 release), kind of memory << 8
  std::uint64_t at_ns = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t device = 0;
  std::uint32_t correlation = 0;
};

struct LogCall {
  LogHead head;  ///< value: name
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t correlation = 0;
  std::uint32_t thread = 0;
};

struct LogSync {
  LogHead head;  ///< value: kind as CUPTI numbers it
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t correlation = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t event = 0;
};

enum class MarkerPart : std::uint32_t { begin = 1, end = 2, instant = 3 };

struct LogMarker {
  LogHead head;  ///< value: name, of a beginning
  std::uint64_t at_ns = 0;
  std::uint32_t id = 0;  ///< the same at both ends
  std::uint32_t thread = 0;
  std::uint32_t domain = 0;  ///< name
  MarkerPart part = {};
};

struct LogOverhead {
  LogHead head;  ///< value: name
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t thread = 0;
  std::uint32_t reserved = 0;
};

struct LogDevice {
  LogHead head;  ///< value: its number
  std::uint64_t memory_bytes = 0;
  std::uint32_t name = 0;
  std::uint32_t multiprocessors = 0;
  std::uint32_t compute_major = 0;
  std::uint32_t compute_minor = 0;
  std::uint32_t warp_size = 0;
  std::uint32_t warps_per_multiprocessor = 0;
  std::uint32_t registers_per_multiprocessor = 0;
  std::uint32_t shared_bytes_per_multiprocessor = 0;
};

struct LogContext {
  LogHead head;  ///< value: its number
  std::uint32_t device = 0;
  std::uint32_t reserved = 0;
};

struct LogWindow {
  LogHead head;  ///< value: 1 opens, 0 closes
  std::uint64_t at_ns = 0;
};

struct LogLost {
  LogHead head;  ///< value: 0 no buffer was free, 1 without a time
  std::uint64_t records = 0;
};

/// The counters of one launch.
struct LogCounted {
  LogHead head;              ///< value: name of the kernel
  std::uint64_t launch = 0;  ///< in the order of launches of the process, from 0
  std::uint32_t values = 0;  ///< as many as LogInfo::counters names
  std::uint32_t reserved = 0;
};

/// The head of a record of fixed size.
template <class Record>
constexpr LogHead log_head(LogKind kind, std::uint32_t value) {
  static_assert(sizeof(Record) % 8 == 0, "records are whole words");
  return {kind, log_mark, static_cast<std::uint16_t>(sizeof(Record) / 8), value};
}

static_assert(sizeof(LogHead) == 8 && sizeof(LogKernel) == 96 && sizeof(LogCopy) == 56 &&
              sizeof(LogFill) == 56 && sizeof(LogMemory) == 40 && sizeof(LogCall) == 32 &&
              sizeof(LogSync) == 40 && sizeof(LogMarker) == 32 && sizeof(LogOverhead) == 32 &&
              sizeof(LogDevice) == 48 && sizeof(LogContext) == 16 && sizeof(LogWindow) == 16 &&
              sizeof(LogLost) == 16 && sizeof(LogCounted) == 24);

}  // namespace strata
