// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

/// The one place that opens SQLite. Databases come from strangers: nothing that is stored in one is
/// run (views, triggers, functions), generated columns and virtual tables are refused, and what it
/// may cost to read is in proportion to its size.
namespace strata {

/// What work a database may cause. A small file can ask for as much as it likes: pages that are
/// counted many times, expressions in its schema.
class SqliteBudget {
 public:
  /// A file of a gigabyte may take 10 s + 1000 s of CPU time and 10¹² steps of SQLite's machine.
  static constexpr double least_cpu_s = 10;
  static constexpr double bytes_per_cpu_s = 1e6;
  static constexpr std::int64_t least_steps = 100'000'000;
  static constexpr std::int64_t steps_per_byte = 1000;

  explicit SqliteBudget(std::int64_t file_bytes);
  void restart();
  /// Whether SQLite must stop, after that many more of its steps.
  bool is_over_after(std::int64_t steps);
  /// Errors (input): it holds more than a file of its size can.
  void take_row(std::int64_t cells);
  void take_text(std::int64_t bytes);

 private:
  std::int64_t file_bytes_;
  std::int64_t steps_ = 0;
  std::int64_t cells_ = 0;
  std::int64_t text_bytes_ = 0;
  std::optional<double> begin_s_;  ///< asking for it costs more than inserting a row
};

class Database {
 public:
  /// Leaves nothing beside the file, and needs no right to write there. Errors do not name the
  /// file. Errors (environment): another process is writing it.
  static Database open_to_read(const std::filesystem::path& path);
  /// Of bytes that outlive it.
  static Database in_memory(std::string_view bytes);
  /// A database of Strata, which is there or is made; errors name the file.
  static Database open_to_write(const std::filesystem::path& path);

  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  void run(const std::string& sql) const;
  /// Whether there is such a table: no view, no virtual table.
  bool has_table(std::string_view name) const;
  /// Errors (input): a column is computed by an expression of the file's.
  std::vector<std::string> columns_of(std::string_view table) const;
  [[noreturn]] void fail_here() const;
  sqlite3* handle() const { return handle_; }

 private:
  friend class Statement;
  enum class Use : std::uint8_t { read, write };

  Database(std::filesystem::path path, Use use, std::int64_t bytes);
  void open(const std::string& name, int flags);
  void make_safe();
  /// A database that is written lives long: each call has a budget of its own.
  void begin_call() const;

  std::filesystem::path path_;
  Use use_;
  sqlite3* handle_ = nullptr;
  int lock_ = -1;  ///< keeps writers away while it is read
  std::unique_ptr<SqliteBudget> budget_;
};

class Statement {
 public:
  Statement(const Database& database, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  bool step();  ///< whether there is a row
  void reset();
  void bind(int at, std::optional<std::int64_t> number);
  void bind_real(int at, double number);
  void bind_text(int at, std::string_view text);

  bool is_null(int column) const;
  bool is_number(int column) const;
  std::optional<std::int64_t> number(int column) const;  ///< nothing: null, or no whole number
  double real(int column) const;
  std::string_view text(int column) const;  ///< until the next step

 private:
  const Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

/// The rows of a table with these columns in this order; what the table lacks is null. No rows
/// where there is no such table.
class TableRows {
 public:
  TableRows(const Database& database, std::string_view table,
            std::initializer_list<std::string_view> columns);

  bool next();
  std::optional<std::int64_t> number(int column) const { return statement_->number(column); }
  std::int64_t number_or(int column, std::int64_t otherwise) const {
    return number(column).value_or(otherwise);
  }
  double real(int column) const { return statement_->real(column); }
  std::string_view text(int column) const { return statement_->text(column); }
  /// Errors (input) that name the table and the row.
  [[noreturn]] void refuse(std::string_view why) const;

 private:
  std::string table_;
  std::optional<Statement> statement_;
  std::int64_t row_ = 0;
};

/// A name as it stands in SQL, whatever characters it has.
std::string quoted_sql_name(std::string_view name);

}  // namespace strata
