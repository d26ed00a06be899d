// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/output_file.hpp"
#include "strata/base/sqlite_database.hpp"
#include "strata/capture/recording_sqlite.hpp"
#include "strata/capture/sqlite_columns.hpp"
#include "strata/version.hpp"

#include <fmt/format.h>

#include <cmath>

namespace strata {
namespace {

template <class Row, std::size_t count>
void write_table(const Database& database, std::string_view table,
                 const RowColumn<Row> (&columns)[count], std::span<const Recording> recordings,
                 std::vector<Row> Recording::*rows) {
  std::string list = "process INTEGER NOT NULL";
  std::string marks = "?";
  for (const RowColumn<Row>& column : columns) {
    list += fmt::format(", {} INTEGER", column.name);
    marks += ",?";
  }
  database.run(fmt::format("CREATE TABLE {} ({})", table, list));
  Statement insert(database, fmt::format("INSERT INTO {} VALUES ({})", table, marks));
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    for (const Row& row : recordings[process].*rows) {
      insert.bind(1, static_cast<std::int64_t>(process));
      int at = 2;
      for (const RowColumn<Row>& column : columns) insert.bind(at++, column.get(row));
      insert.step();
      insert.reset();
    }
  }
}

void write_processes(const Database& database, std::span<const Recording> recordings) {
  database.run(
      "CREATE TABLE processes (process INTEGER PRIMARY KEY, pid INTEGER, rank INTEGER, host TEXT, "
      "command TEXT, date TEXT, source_format TEXT, ending TEXT, clock_is_unix INTEGER, "
      "kernels_were_serialised INTEGER, has_times INTEGER, lost_records INTEGER)");
  Statement insert(database, "INSERT INTO processes VALUES (?,?,?,?,?,?,?,?,?,?,?,?)");
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    const ProcessInfo& info = recordings[process].process;
    insert.bind(1, static_cast<std::int64_t>(process));
    insert.bind(2, info.pid);
    insert.bind(3, info.rank < 0 ? std::nullopt : std::optional(info.rank));
    insert.bind_text(4, info.host);
    insert.bind_text(5, info.command);
    insert.bind_text(6, info.date);
    insert.bind_text(7, info.source_format);
    insert.bind_text(8, info.ending);
    insert.bind(9, info.clock_is_unix ? 1 : 0);
    insert.bind(10, info.kernels_were_serialised ? 1 : 0);
    insert.bind(11, info.has_times ? 1 : 0);
    insert.bind(12, recordings[process].lost_records);
    insert.step();
    insert.reset();
  }
}

void write_devices(const Database& database, std::span<const Recording> recordings) {
  database.run(
      "CREATE TABLE devices (process INTEGER NOT NULL, device INTEGER, name TEXT, memory_bytes "
      "INTEGER, multiprocessors INTEGER, compute_major INTEGER, compute_minor INTEGER, warp_size "
      "INTEGER, max_threads_per_multiprocessor INTEGER, registers_per_multiprocessor INTEGER, "
      "shared_bytes_per_multiprocessor INTEGER)");
  Statement insert(database, "INSERT INTO devices VALUES (?,?,?,?,?,?,?,?,?,?,?)");
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    for (const RecordedDevice& device : recordings[process].process.devices) {
      insert.bind(1, static_cast<std::int64_t>(process));
      insert.bind(2, device.id);
      insert.bind_text(3, device.name);
      int at = 4;
      for (const std::int64_t number :
           {device.memory_bytes, std::int64_t{device.multiprocessors},
            std::int64_t{device.compute_major}, std::int64_t{device.compute_minor},
            std::int64_t{device.warp_size}, std::int64_t{device.max_threads_per_multiprocessor},
            std::int64_t{device.registers_per_multiprocessor},
            device.shared_bytes_per_multiprocessor}) {
        insert.bind(at++, number);
      }
      insert.step();
      insert.reset();
    }
  }
}

void write_names(const Database& database, std::span<const Recording> recordings) {
  database.run(
      "CREATE TABLE names (process INTEGER NOT NULL, id INTEGER NOT NULL, text TEXT NOT NULL, "
      "PRIMARY KEY (process, id)) WITHOUT ROWID");
  Statement insert(database, "INSERT INTO names VALUES (?,?,?)");
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    const NameTable& names = recordings[process].names;
    for (NameId id = 0; id < names.size(); ++id) {
      insert.bind(1, static_cast<std::int64_t>(process));
      insert.bind(2, id);
      insert.bind_text(3, names.text(id));
      insert.step();
      insert.reset();
    }
  }
}

void write_counters(const Database& database, std::span<const Recording> recordings) {
  database.run(
      "CREATE TABLE counter_names (process INTEGER NOT NULL, counter INTEGER NOT NULL, name "
      "INTEGER, unit INTEGER)");
  database.run(
      "CREATE TABLE counters (process INTEGER NOT NULL, kernel INTEGER NOT NULL, counter INTEGER "
      "NOT NULL, value REAL)");
  Statement name(database, "INSERT INTO counter_names VALUES (?,?,?,?)");
  Statement value(database, "INSERT INTO counters VALUES (?,?,?,?)");
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    const RecordedCounters& counters = recordings[process].counters;
    const std::size_t width = counters.names.size();
    for (std::size_t i = 0; i < width; ++i) {
      name.bind(1, static_cast<std::int64_t>(process));
      name.bind(2, static_cast<std::int64_t>(i));
      name.bind(3, counters.names[i]);
      name.bind(4, counters.units[i]);
      name.step();
      name.reset();
    }
    for (std::size_t i = 0; i < counters.values.size(); ++i) {
      if (std::isnan(counters.values[i])) continue;
      value.bind(1, static_cast<std::int64_t>(process));
      value.bind(2, static_cast<std::int64_t>(i / width));
      value.bind(3, static_cast<std::int64_t>(i % width));
      value.bind_real(4, counters.values[i]);
      value.step();
      value.reset();
    }
  }
}

void write_notes(const Database& database, std::span<const Recording> recordings) {
  database.run("CREATE TABLE notes (process INTEGER NOT NULL, text TEXT)");
  Statement insert(database, "INSERT INTO notes VALUES (?,?)");
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    for (const std::string& note : recordings[process].notes) {
      insert.bind(1, static_cast<std::int64_t>(process));
      insert.bind_text(2, note);
      insert.step();
      insert.reset();
    }
  }
}

/// What people ask for in SQL: by time, by name, from a kernel to the call that launched it.
void write_indexes(const Database& database) {
  database.run("CREATE INDEX kernels_by_start ON kernels (process, start_ns)");
  database.run("CREATE INDEX kernels_by_name ON kernels (process, name)");
  database.run("CREATE INDEX calls_by_correlation ON calls (process, correlation)");
  database.run("CREATE INDEX ranges_by_thread ON ranges (process, thread, start_ns)");
  database.run("CREATE INDEX counters_by_kernel ON counters (process, kernel)");
  database.run(
      "CREATE VIEW kernel_list AS SELECT kernels.process, start_ns, end_ns - start_ns AS "
      "duration_ns, text AS name, device, stream, correlation FROM kernels JOIN names ON names.id "
      "= kernels.name AND names.process = kernels.process");
}

void write_all(const Database& database, std::span<const Recording> recordings) {
  // The file is new and takes its place only when it is whole: nothing needs to be undone.
  database.run("PRAGMA journal_mode=MEMORY");
  database.run("PRAGMA synchronous=OFF");
  database.run("BEGIN");
  database.run("CREATE TABLE strata_capture (key TEXT PRIMARY KEY, value TEXT)");
  database.run(fmt::format(
      "INSERT INTO strata_capture VALUES ('schema_version','{}'),('version','{}'),('processes',"
      "'{}')",
      capture_schema_version, version, recordings.size()));
  write_processes(database, recordings);
  write_devices(database, recordings);
  write_names(database, recordings);
  write_table(database, "kernels", kernel_columns, recordings, &Recording::kernels);
  write_table(database, "copies", copy_columns, recordings, &Recording::copies);
  write_table(database, "fills", fill_columns, recordings, &Recording::fills);
  write_table(database, "memory", memory_columns, recordings, &Recording::memory);
  write_table(database, "calls", call_columns, recordings, &Recording::calls);
  write_table(database, "syncs", sync_columns, recordings, &Recording::syncs);
  write_table(database, "ranges", range_columns, recordings, &Recording::ranges);
  write_table(database, "overheads", overhead_columns, recordings, &Recording::overheads);
  write_counters(database, recordings);
  write_notes(database, recordings);
  write_indexes(database);
  database.run("COMMIT");
}

}  // namespace

void write_recordings(const std::filesystem::path& path, std::span<const Recording> recordings) {
  for (const Recording& recording : recordings) {
    if (!recording.sums.empty())
      fail(ErrorKind::input,
           "a summary of nvprof has no single records that a database could hold");
  }
  OutputFile file(path);
  try {
    write_all(Database::open_to_write(file.name_meanwhile()), recordings);
  } catch (const Error& error) {
    fail(error.kind(), "cannot write {}: {}", path.string(), error.what());
  }
  file.finish();
}

}  // namespace strata
