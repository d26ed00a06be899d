// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/sweep/read_table.hpp"
#include "strata/sweep/sink.hpp"
#include "strata/sweep/typed_table.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <string>
#include <system_error>

namespace strata {
namespace {

constexpr std::int64_t schema_version = 1;

/// A database that closes itself.
class Database {
 public:
  Database(const std::filesystem::path& path, int flags) : path_(path.string()) {
    if (sqlite3_open_v2(path_.c_str(), &handle_, flags, nullptr) != SQLITE_OK) {
      const std::string reason = sqlite3_errmsg(handle_);
      sqlite3_close(handle_);
      fail(ErrorKind::environment, "cannot open {}: {}", path_, reason);
    }
    sqlite3_busy_timeout(handle_, 1000);
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const std::string& sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail_here();
  }
  [[noreturn]] void fail_here() const {
    const bool is_busy = sqlite3_errcode(handle_) == SQLITE_BUSY;
    fail(ErrorKind::environment, "{}: {}", path_,
         is_busy ? "is being written by another process" : sqlite3_errmsg(handle_));
  }
  sqlite3* handle() const { return handle_; }

 private:
  std::string path_;
  sqlite3* handle_ = nullptr;
};

class Statement {
 public:
  Statement(const Database& database, const std::string& sql) : database_(database) {
    if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &handle_, nullptr) != SQLITE_OK)
      database.fail_here();
  }
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Whether there is a row.
  bool step() {
    const int status = sqlite3_step(handle_);
    if (status != SQLITE_ROW && status != SQLITE_DONE) database_.fail_here();
    return status == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(handle_); }
  void bind(int at, const SweepCell& cell) {
    if (cell.is_empty) {
      sqlite3_bind_null(handle_, at);
    } else if (cell.kind == SweepCellKind::whole) {
      sqlite3_bind_int64(handle_, at, cell.whole);
    } else if (cell.kind == SweepCellKind::real) {
      sqlite3_bind_double(handle_, at, cell.real);
    } else {
      sqlite3_bind_text(handle_, at, cell.text.data(), static_cast<int>(cell.text.size()),
                        SQLITE_TRANSIENT);
    }
  }
  std::string text(int column) const {
    const unsigned char* bytes = sqlite3_column_text(handle_, column);
    return bytes == nullptr ? "" : std::string(reinterpret_cast<const char*>(bytes));
  }
  sqlite3_stmt* handle() const { return handle_; }

 private:
  const Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

std::string value_of_key(const Database& database, std::string_view key) {
  Statement query(database, fmt::format("SELECT value FROM sweep WHERE key = '{}'", key));
  return query.step() ? query.text(0) : "";
}

bool has_table(const Database& database, std::string_view name) {
  Statement query(
      database, fmt::format("SELECT 1 FROM sqlite_master WHERE type='table' AND name='{}'", name));
  return query.step();
}

std::string_view type_of(SweepCellKind kind) {
  return kind == SweepCellKind::whole ? "INTEGER" : kind == SweepCellKind::real ? "REAL" : "TEXT";
}

// Names of columns come from the user's axes.
std::string quoted_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

void refuse_present(const std::filesystem::path& path, IfPresent if_present) {
  std::error_code problem;
  const bool has_content = std::filesystem::exists(path, problem) &&
                           std::filesystem::file_size(path, problem) > 0 && !problem;
  if (has_content && if_present == IfPresent::refuse) {
    fail(ErrorKind::usage,
         "{} is there already; give --resume to go on with it, or --force to replace it",
         path.string());
  }
  if (if_present == IfPresent::replace) {
    std::filesystem::remove(path, problem);
    std::filesystem::remove(path.string() + "-journal", problem);
    std::filesystem::remove(path.string() + "-wal", problem);
  }
}

class DatabaseSink : public SweepSink {
 public:
  DatabaseSink(const std::filesystem::path& path, IfPresent if_present, const SweepColumns& columns,
               const SweepIdentity& identity)
      : columns_(columns),
        database_((refuse_present(path, if_present), path),
                  SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) {
    database_.run("PRAGMA locking_mode=EXCLUSIVE");
    if (has_table(database_, "sweep")) {
      expect_same(path, identity);
    } else {
      create(path, identity);
    }
    // A commit hands its pages to the system and does not wait for the disk: a process that is
    // killed loses nothing that was committed, a machine that fails perhaps the last points.
    database_.run("PRAGMA journal_mode=WAL");
    database_.run("PRAGMA synchronous=NORMAL");
    // Not their count: a constraint may have left some out.
    Statement last(database_, "SELECT coalesce(max(point) + 1, 0) FROM points");
    last.step();
    done_ = sqlite3_column_int64(last.handle(), 0);
    std::string marks = "?";
    for (std::size_t i = 1; i < columns.heads().size(); ++i) marks += ",?";
    insert_ = std::make_unique<Statement>(database_,
                                          fmt::format("INSERT INTO points VALUES ({})", marks));
    database_.run("BEGIN IMMEDIATE");
  }
  ~DatabaseSink() override {
    insert_.reset();
    sqlite3_exec(database_.handle(), "COMMIT", nullptr, nullptr, nullptr);
  }

  std::int64_t done() const override { return done_; }

  void write(std::int64_t first, std::span<const PointResult> results) override {
    for (const PointResult& result : results) {
      if (first >= done_ && !result.is_left_out) {
        columns_.fill(cells_, first, result);
        for (std::size_t i = 0; i < cells_.size(); ++i)
          insert_->bind(static_cast<int>(i) + 1, cells_[i]);
        insert_->step();
        insert_->reset();
      }
      ++first;
    }
  }

  void flush() override {
    database_.run("COMMIT");
    database_.run("BEGIN IMMEDIATE");
  }

 private:
  void expect_same(const std::filesystem::path& path, const SweepIdentity& identity) const {
    if (value_of_key(database_, "identity") == identity.hash &&
        value_of_key(database_, "version") == identity.version &&
        value_of_key(database_, "schema_version") == fmt::format("{}", schema_version)) {
      return;
    }
    fail(ErrorKind::usage,
         "{} holds no results of this sweep by this version; nothing was changed (--force replaces "
         "it)",
         path.string());
  }

  void create(const std::filesystem::path& path, const SweepIdentity& identity) {
    Statement others(database_, "SELECT 1 FROM sqlite_master");
    if (others.step()) {
      fail(ErrorKind::usage, "{} is a database of something else; nothing was changed",
           path.string());
    }
    std::string columns;
    std::string axes;
    for (const ColumnHead& head : columns_.heads()) {
      columns += fmt::format("{}{} {}", columns.empty() ? "" : ", ", quoted_name(head.name),
                             head.name == "point" ? "INTEGER PRIMARY KEY" : type_of(head.kind));
      if (head.is_axis) axes += (axes.empty() ? "" : ",") + head.name;
    }
    database_.run("BEGIN IMMEDIATE");
    database_.run("CREATE TABLE sweep (key TEXT PRIMARY KEY, value TEXT)");
    database_.run(fmt::format(
        "INSERT INTO sweep VALUES ('schema_version','{}'),('identity','{}'),('version','{}'),"
        "('points','{}'),('axes','{}')",
        schema_version, identity.hash, identity.version, identity.points, axes));
    database_.run(fmt::format("CREATE TABLE points ({})", columns));
    database_.run("COMMIT");
  }

  const SweepColumns& columns_;
  Database database_;
  std::unique_ptr<Statement> insert_;
  std::int64_t done_ = 0;
  std::vector<SweepCell> cells_;
};

}  // namespace

std::unique_ptr<SweepSink> database_sink(const std::filesystem::path& path, IfPresent if_present,
                                         const SweepColumns& columns,
                                         const SweepIdentity& identity) {
  return std::make_unique<DatabaseSink>(path, if_present, columns, identity);
}

SweepTable read_database_table(const std::filesystem::path& path) {
  const Database database(path, SQLITE_OPEN_READONLY);
  if (!has_table(database, "sweep") || !has_table(database, "points"))
    fail(ErrorKind::input, "is a database, but no result of a sweep");
  TypedTable table;
  table.table().identity = value_of_key(database, "identity");
  const std::string axes = "," + value_of_key(database, "axes") + ",";
  Statement rows(database, "SELECT * FROM points ORDER BY point");
  const int columns = sqlite3_column_count(rows.handle());
  for (int i = 0; i < columns; ++i) {
    const std::string name = sqlite3_column_name(rows.handle(), i);
    table.add_column(name, axes.find("," + name + ",") != std::string::npos);
  }
  for (std::size_t row = 1; rows.step(); ++row) {
    table.begin_row(fmt::format("row {}", row));
    for (int i = 0; i < columns; ++i) {
      const int type = sqlite3_column_type(rows.handle(), i);
      if (type == SQLITE_NULL) continue;
      if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
        table.add_number(static_cast<std::size_t>(i), sqlite3_column_double(rows.handle(), i));
      } else {
        table.add_text(static_cast<std::size_t>(i), rows.text(i));
      }
    }
  }
  return std::move(table).finish();
}

}  // namespace strata
