// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/sqlite_recording_read.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/capture/recording_sqlite.hpp"
#include "strata/capture/sqlite_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

namespace strata {
namespace {

constexpr std::size_t most_processes = 100'000;
constexpr std::size_t most_counters = 10'000;
constexpr std::size_t most_counter_values = std::size_t{1} << 28;
constexpr std::int64_t latest_ns = std::int64_t{1} << 62;

/// Names by the numbers of the file.
using NameMap = std::unordered_map<std::int64_t, NameId>;

struct OwnProcess {
  Recording recording;
  NameMap names;
};

class OwnReader {
 public:
  explicit OwnReader(const Database& database) : database_(database) {}

  std::vector<Recording> read() {
    check_own_version();
    read_processes();
    read_devices();
    read_names();
    read_table("kernels", kernel_columns, &Recording::kernels);
    read_table("copies", copy_columns, &Recording::copies);
    read_table("fills", fill_columns, &Recording::fills);
    read_table("memory", memory_columns, &Recording::memory);
    read_table("calls", call_columns, &Recording::calls);
    read_table("syncs", sync_columns, &Recording::syncs);
    read_table("ranges", range_columns, &Recording::ranges);
    read_table("overheads", overhead_columns, &Recording::overheads);
    read_counters();
    read_notes();
    std::vector<Recording> recordings;
    for (OwnProcess& process : processes_) {
      check_recording(process.recording);
      sort_by_start(process.recording);
      recordings.push_back(std::move(process.recording));
    }
    return recordings;
  }

 private:
  void check_own_version() const {
    Statement query(database_, "SELECT value FROM strata_capture WHERE key='schema_version'");
    const std::string text(query.step() ? query.text(0) : "");
    if (text == fmt::format("{}", capture_schema_version)) return;
    fail(ErrorKind::input, "schema_version is '{}', this program reads {}", printable(text),
         capture_schema_version);
  }

  OwnProcess& process_of(const TableRows& rows, std::optional<std::int64_t> process) {
    if (!process || *process < 0 || *process >= static_cast<std::int64_t>(processes_.size()))
      rows.refuse("its process is not in the table processes");
    return processes_[static_cast<std::size_t>(*process)];
  }

  void read_processes() {
    TableRows rows(database_, "processes",
                   {"process", "pid", "rank", "host", "command", "date", "source_format", "ending",
                    "clock_is_unix", "kernels_were_serialised", "has_times", "lost_records"});
    while (rows.next()) {
      if (rows.number(0) != static_cast<std::int64_t>(processes_.size()))
        rows.refuse("processes are counted from 0");
      if (processes_.size() >= most_processes) rows.refuse("too many processes");
      Recording& recording = processes_.emplace_back().recording;
      ProcessInfo& info = recording.process;
      info.pid = rows.number_or(1, 0);
      info.rank = rows.number_or(2, -1);
      info.host = printable(rows.text(3));
      info.command = printable(rows.text(4));
      info.date = printable(rows.text(5));
      info.source_format = printable(rows.text(6));
      info.ending = printable(rows.text(7));
      info.clock_is_unix = rows.number_or(8, 0) != 0;
      info.kernels_were_serialised = rows.number_or(9, 0) != 0;
      info.has_times = rows.number_or(10, 1) != 0;
      recording.lost_records = std::max<std::int64_t>(0, rows.number_or(11, 0));
    }
    if (processes_.empty()) fail(ErrorKind::input, "there is no process in it");
  }

  void read_devices() {
    TableRows rows(database_, "devices",
                   {"process", "device", "name", "memory_bytes", "multiprocessors", "compute_major",
                    "compute_minor", "warp_size", "max_threads_per_multiprocessor",
                    "registers_per_multiprocessor", "shared_bytes_per_multiprocessor"});
    const auto small = [&](int column) {
      return static_cast<std::int32_t>(
          std::clamp<std::int64_t>(rows.number_or(column, 0), 0, INT32_MAX));
    };
    while (rows.next()) {
      RecordedDevice device;
      device.id = static_cast<std::uint32_t>(small(1));
      device.name = printable(rows.text(2));
      device.memory_bytes = std::max<std::int64_t>(0, rows.number_or(3, 0));
      device.multiprocessors = small(4);
      device.compute_major = small(5);
      device.compute_minor = small(6);
      device.warp_size = small(7);
      device.max_threads_per_multiprocessor = small(8);
      device.registers_per_multiprocessor = small(9);
      device.shared_bytes_per_multiprocessor = std::max<std::int64_t>(0, rows.number_or(10, 0));
      process_of(rows, rows.number(0)).recording.process.devices.push_back(std::move(device));
    }
  }

  void read_names() {
    TableRows rows(database_, "names", {"process", "id", "text"});
    while (rows.next()) {
      OwnProcess& process = process_of(rows, rows.number(0));
      process.names[rows.number_or(1, -1)] = process.recording.names.id_of(rows.text(2));
    }
  }

  static NameId known_name(const TableRows& rows, const OwnProcess& process, std::int64_t id) {
    const auto found = process.names.find(id);
    if (found == process.names.end()) rows.refuse("its name is not in the table names");
    return found->second;
  }

  template <class Row, std::size_t count, std::size_t... at>
  void read_table_columns(std::string_view table, const RowColumn<Row> (&columns)[count],
                          std::vector<Row> Recording::*target, std::index_sequence<at...>) {
    TableRows rows(database_, table, {"process", columns[at].name...});
    while (rows.next()) {
      OwnProcess& process = process_of(rows, rows.number(0));
      Row row;
      for (std::size_t i = 0; i < count; ++i) {
        if (!columns[i].set(row, rows.number(static_cast<int>(i) + 1)))
          rows.refuse(fmt::format("'{}' is missing or no such number", columns[i].name));
      }
      if constexpr (requires { row.name; }) row.name = known_name(rows, process, row.name);
      if constexpr (requires { row.inputs; })
        row.inputs = row.inputs == 0xffffffffU ? 0 : known_name(rows, process, row.inputs);
      if constexpr (requires { row.origin; }) {
        // Databases of earlier versions have no such column.
        row.origin = row.origin == 0xffffffffU ? 0 : known_name(rows, process, row.origin);
      }
      if constexpr (requires { row.domain; }) row.domain = known_name(rows, process, row.domain);
      if constexpr (requires { row.time; }) {
        const TimeSpan time = row.time;
        if (time.end_ns < time.start_ns || time.start_ns < -latest_ns || time.end_ns > latest_ns)
          rows.refuse("its end is before its start, or out of reach");
      }
      (process.recording.*target).push_back(row);
    }
  }
  template <class Row, std::size_t count>
  void read_table(std::string_view table, const RowColumn<Row> (&columns)[count],
                  std::vector<Row> Recording::*target) {
    if (!database_.has_table(table)) fail(ErrorKind::input, "the table {} is missing", table);
    read_table_columns(table, columns, target, std::make_index_sequence<count>{});
  }

  void read_counters() {
    TableRows names(database_, "counter_names", {"process", "counter", "name", "unit"});
    while (names.next()) {
      OwnProcess& process = process_of(names, names.number(0));
      RecordedCounters& counters = process.recording.counters;
      if (names.number(1) != static_cast<std::int64_t>(counters.names.size()))
        names.refuse("counters are counted from 0");
      if (counters.names.size() >= most_counters) names.refuse("too many counters");
      counters.names.push_back(known_name(names, process, names.number_or(2, -1)));
      counters.units.push_back(known_name(names, process, names.number_or(3, -1)));
    }
    TableRows rows(database_, "counters", {"process", "kernel", "counter", "value"});
    while (rows.next()) {
      Recording& recording = process_of(rows, rows.number(0)).recording;
      RecordedCounters& counters = recording.counters;
      const std::size_t width = counters.names.size();
      const std::size_t kernels = recording.kernels.size();
      const std::int64_t kernel = rows.number_or(1, -1);
      const std::int64_t counter = rows.number_or(2, -1);
      if (kernel < 0 || static_cast<std::size_t>(kernel) >= kernels || counter < 0 ||
          static_cast<std::size_t>(counter) >= width) {
        rows.refuse("a value of no kernel or of no counter");
      }
      if (counters.values.empty()) {
        if (kernels > most_counter_values / width) rows.refuse("too many values");
        counters.values.assign(kernels * width, std::numeric_limits<double>::quiet_NaN());
      }
      counters
          .values[static_cast<std::size_t>(kernel) * width + static_cast<std::size_t>(counter)] =
          rows.real(3);
    }
  }

  void read_notes() {
    TableRows rows(database_, "notes", {"process", "text"});
    while (rows.next())
      process_of(rows, rows.number(0)).recording.notes.push_back(printable(rows.text(1)));
  }

  const Database& database_;
  std::vector<OwnProcess> processes_;
};

std::vector<Recording> read_any(const Database& database) {
  if (is_own_database(database)) return read_own_database(database);
  if (is_nsight_systems(database)) return read_nsight_systems(database);
  if (is_nvprof(database)) return read_nvprof(database);
  fail(ErrorKind::input,
       "is a database, but neither of strata capture nor of nsys export --type sqlite nor of "
       "nvprof -o");
}

}  // namespace

bool is_own_database(const Database& database) { return database.has_table("strata_capture"); }

std::vector<Recording> read_own_database(const Database& database) {
  return OwnReader(database).read();
}

std::vector<Recording> read_recording_database(const std::filesystem::path& path) {
  return read_any(Database::open_to_read(path));
}

std::vector<Recording> read_recording_database(std::string_view bytes) {
  return read_any(Database::in_memory(bytes));
}

bool is_recording_database(const std::filesystem::path& path) {
  try {
    const Database database = Database::open_to_read(path);
    return is_own_database(database) || is_nsight_systems(database) || is_nvprof(database);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace strata
