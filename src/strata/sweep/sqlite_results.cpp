// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/sqlite_database.hpp"
#include "strata/sweep/locked_output.hpp"
#include "strata/sweep/read_table.hpp"
#include "strata/sweep/sink.hpp"
#include "strata/sweep/typed_table.hpp"

#include <fmt/format.h>

#include <fstream>
#include <set>
#include <string>
#include <system_error>

namespace strata {
namespace {

/// 2: the table `sweep` says how many points are done, and of how many there is a row.
constexpr std::int64_t schema_version = 2;
constexpr std::string_view sweep_table_sql =
    "CREATE TABLE sweep (key TEXT PRIMARY KEY, value TEXT)";

std::string value_of_key(const Database& database, std::string_view key) {
  Statement query(database, "SELECT value FROM sweep NOT INDEXED WHERE key = ?");
  query.bind_text(1, key);
  return query.step() ? std::string(query.text(0)) : "";
}

std::string_view type_of(SweepCellKind kind) {
  return kind == SweepCellKind::whole ? "INTEGER" : kind == SweepCellKind::real ? "REAL" : "TEXT";
}

std::string points_table_sql(const SweepColumns& columns) {
  std::string list;
  for (const ColumnHead& head : columns.heads()) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", quoted_sql_name(head.name),
                        head.name == "point" ? "INTEGER PRIMARY KEY" : type_of(head.kind));
  }
  return fmt::format("CREATE TABLE points ({})", list);
}

void bind_cell(Statement& statement, int at, const SweepCell& cell) {
  if (cell.is_empty) {
    statement.bind(at, std::nullopt);
  } else if (cell.kind == SweepCellKind::whole) {
    statement.bind(at, cell.whole);
  } else if (cell.kind == SweepCellKind::real) {
    statement.bind_real(at, cell.real);
  } else {
    statement.bind_text(at, cell.text);
  }
}

/// What SQLite keeps beside a database that is written. A file of that name which somebody else
/// put there is not removed.
void remove_log_of_sqlite(const std::filesystem::path& path, std::string_view begin) {
  std::error_code problem;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, problem))) return;
  std::ifstream file(path, std::ios::binary);
  std::string there(begin.size(), '\0');
  file.read(there.data(), static_cast<std::streamsize>(there.size()));
  there.resize(static_cast<std::size_t>(file.gcount()));
  const bool is_cleared = there.find_first_not_of('\0') == std::string::npos;
  const bool is_plain =
      std::filesystem::symlink_status(path, problem).type() == std::filesystem::file_type::regular;
  if (!is_plain || (!is_cleared && there != begin))
    fail(ErrorKind::usage, "{} is no file of SQLite; nothing was changed: move it away",
         path.string());
  std::filesystem::remove(path, problem);
}

const std::filesystem::path& expect_file(const std::filesystem::path& path) {
  std::error_code problem;
  const std::filesystem::file_status there = std::filesystem::status(path, problem);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    fail(ErrorKind::usage, "{} is no file; a database needs one", path.string());
  return path;
}

/// The file, locked before anybody looks into it and emptied where it is to be replaced.
class DatabaseFile {
 public:
  DatabaseFile(const std::filesystem::path& path, IfPresent if_present)
      : output_(expect_file(path)) {
    std::error_code problem;
    const bool has_content = std::filesystem::file_size(path, problem) > 0 && !problem;
    if (has_content && if_present == IfPresent::refuse) {
      fail(ErrorKind::usage,
           "{} is there already; give --resume to go on with it, or --force to replace it",
           path.string());
    }
    if (if_present != IfPresent::replace) return;
    remove_log_of_sqlite(path.string() + "-wal", "\x37\x7f\x06");
    remove_log_of_sqlite(path.string() + "-journal", "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7");
    output_.empty();
  }
  LockedOutput& output() { return output_; }
  const LockedOutput& output() const { return output_; }

 private:
  LockedOutput output_;
};

class DatabaseSink : public SweepSink {
 public:
  DatabaseSink(const std::filesystem::path& path, IfPresent if_present, const SweepColumns& columns,
               const SweepIdentity& identity)
      : columns_(columns), file_(path, if_present), database_(Database::open_to_write(path)) {
    database_.run("PRAGMA locking_mode=EXCLUSIVE");
    if (is_empty()) {
      create(identity);
    } else {
      expect_same(identity);
      go_on(identity);
    }
    // A commit hands its pages to the system and does not wait for the disk: a process that is
    // killed loses nothing that was committed, a machine that fails perhaps the last points.
    database_.run("PRAGMA journal_mode=WAL");
    database_.run("PRAGMA synchronous=NORMAL");
    std::string marks = "?";
    for (std::size_t i = 1; i < columns.heads().size(); ++i) marks += ",?";
    insert_ = std::make_unique<Statement>(database_,
                                          fmt::format("INSERT INTO points VALUES ({})", marks));
    count_ = std::make_unique<Statement>(
        database_, "INSERT OR REPLACE INTO sweep VALUES ('done', ?), ('rows', ?)");
    database_.run("BEGIN IMMEDIATE");
  }
  /// Leaves one file, which can be read from a folder that cannot be written.
  ~DatabaseSink() override {
    try {
      commit();
      insert_.reset();
      count_.reset();
      database_.run("PRAGMA journal_mode=DELETE");
    } catch (const Error&) {
      // flush() has told of what could not be written; the log beside the file holds the rest.
    }
  }
  DatabaseSink(const DatabaseSink&) = delete;
  DatabaseSink& operator=(const DatabaseSink&) = delete;

  std::int64_t done() const override { return first_; }

  void write(std::int64_t first, std::span<const PointResult> results) override {
    for (const PointResult& result : results) {
      if (first >= done_) {
        if (!result.is_left_out) add_row(first, result);
        done_ = first + 1;
      }
      ++first;
    }
  }

  void flush() override {
    file_.output().expect_still_there();
    commit();
    file_.output().note_written();
    database_.run("BEGIN IMMEDIATE");
  }

 private:
  void add_row(std::int64_t point, const PointResult& result) {
    columns_.fill(cells_, point, result);
    for (std::size_t i = 0; i < cells_.size(); ++i)
      bind_cell(*insert_, static_cast<int>(i) + 1, cells_[i]);
    insert_->step();
    insert_->reset();
    ++rows_;
  }

  void commit() {
    count_->bind(1, done_);
    count_->bind(2, rows_);
    count_->step();
    count_->reset();
    database_.run("COMMIT");
  }

  bool is_empty() const {
    Statement any(database_, "SELECT 1 FROM sqlite_master");
    return !any.step();
  }

  [[noreturn]] void refuse(ErrorKind kind, std::string_view why) const {
    fail(kind, "{} {}; nothing was changed (--force replaces it)", file_.output().path().string(),
         why);
  }

  void expect_same(const SweepIdentity& identity) const {
    if (!database_.has_table("sweep")) refuse(ErrorKind::usage, "is a database of something else");
    // What is not as a sweep makes it could do anything when a row is added.
    std::set<std::string> expected = {std::string(sweep_table_sql), points_table_sql(columns_)};
    Statement all(database_, "SELECT name, sql FROM sqlite_master");
    bool is_as_made = true;
    while (all.step()) {
      const bool is_index_of_key = all.text(0) == "sqlite_autoindex_sweep_1" && all.is_null(1);
      if (is_index_of_key || expected.erase(std::string(all.text(1))) > 0) continue;
      // Columns follow from the sweep: another one has others.
      is_as_made = false;
      if (all.text(0) == "points" || all.text(0) == "sweep") continue;
      refuse(ErrorKind::usage,
             fmt::format("holds '{}', which no sweep wrote", printable(all.text(0))));
    }
    if (!is_as_made || !expected.empty() || value_of_key(database_, "identity") != identity.hash ||
        value_of_key(database_, "version") != identity.version ||
        value_of_key(database_, "schema_version") != fmt::format("{}", schema_version)) {
      refuse(ErrorKind::usage, "holds no results of this sweep by this version");
    }
  }

  void go_on(const SweepIdentity& identity) {
    Statement stored(database_,
                     "SELECT (SELECT CAST(value AS INTEGER) FROM sweep WHERE key='done'), (SELECT "
                     "CAST(value AS INTEGER) FROM sweep WHERE key='rows')");
    stored.step();
    done_ = stored.number(0).value_or(-1);
    rows_ = stored.number(1).value_or(-1);
    Statement there(
        database_,
        "SELECT count(*), coalesce(min(point), 0), coalesce(max(point), -1) FROM points");
    there.step();
    const std::int64_t count = there.number(0).value_or(-1);
    const bool is_numbered =
        there.number(1).value_or(-1) >= 0 && there.number(2).value_or(0) < done_;
    const bool may_lack_points = identity.leaves_points_out;
    if (count != rows_ || !is_numbered || done_ > identity.points ||
        (!may_lack_points && rows_ != done_)) {
      refuse(
          ErrorKind::input,
          fmt::format("was changed: it has {} rows, and of {} points that are done there were {}",
                      count, done_, rows_));
    }
    first_ = done_;
  }

  void create(const SweepIdentity& identity) {
    std::string axes;
    for (const ColumnHead& head : columns_.heads()) {
      if (head.is_axis) axes += (axes.empty() ? "" : ",") + head.name;
    }
    database_.run("BEGIN IMMEDIATE");
    database_.run(std::string(sweep_table_sql));
    Statement insert(database_, "INSERT INTO sweep VALUES (?, ?)");
    const std::pair<std::string_view, std::string> values[] = {
        {"schema_version", fmt::format("{}", schema_version)},
        {"identity", identity.hash},
        {"version", identity.version},
        {"points", fmt::format("{}", identity.points)},
        {"axes", axes},
        {"done", "0"},
        {"rows", "0"}};
    for (const auto& [key, value] : values) {
      insert.bind_text(1, key);
      insert.bind_text(2, value);
      insert.step();
      insert.reset();
    }
    database_.run(points_table_sql(columns_));
    database_.run("COMMIT");
  }

  const SweepColumns& columns_;
  DatabaseFile file_;  // behind the database: closing it ends SQLite's own locks, too
  Database database_;
  std::unique_ptr<Statement> insert_;
  std::unique_ptr<Statement> count_;
  std::int64_t first_ = 0;  ///< that was not there
  std::int64_t done_ = 0;
  std::int64_t rows_ = 0;
  std::vector<SweepCell> cells_;
};

/// Errors (input): what a database of results has no use for, and a stranger may have.
void refuse_programs(const Database& database) {
  Statement all(database,
                "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view') OR sql "
                "LIKE 'CREATE VIRTUAL%'");
  if (!all.step()) return;
  fail(ErrorKind::input, "holds the {} '{}', which no sweep wrote",
       all.text(0) == "table" ? "virtual table" : all.text(0), printable(all.text(1)));
}

}  // namespace

std::unique_ptr<SweepSink> database_sink(const std::filesystem::path& path, IfPresent if_present,
                                         const SweepColumns& columns,
                                         const SweepIdentity& identity) {
  return std::make_unique<DatabaseSink>(path, if_present, columns, identity);
}

SweepTable read_database_table(const std::filesystem::path& path) {
  const Database database = Database::open_to_read(path);
  refuse_programs(database);
  if (!database.has_table("sweep") || !database.has_table("points"))
    fail(ErrorKind::input, "is a database, but no result of a sweep");
  database.columns_of("sweep");
  TypedTable table;
  table.table().identity = value_of_key(database, "identity");
  const std::string axes = "," + value_of_key(database, "axes") + ",";
  const std::vector<std::string> columns = database.columns_of("points");
  std::string list;
  for (const std::string& name : columns) {
    table.add_column(name, axes.find("," + name + ",") != std::string::npos);
    list += (list.empty() ? "" : ",") + quoted_sql_name(name);
  }
  Statement rows(database, fmt::format("SELECT {} FROM points NOT INDEXED ORDER BY point", list));
  for (std::size_t row = 1; rows.step(); ++row) {
    table.begin_row(fmt::format("row {}", row));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const int at = static_cast<int>(i);
      if (rows.is_null(at)) continue;
      if (rows.is_number(at)) {
        table.add_number(i, rows.real(at));
      } else {
        table.add_text(i, std::string(rows.text(at)));
      }
    }
  }
  return std::move(table).finish();
}

}  // namespace strata
