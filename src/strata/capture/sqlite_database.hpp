// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

/// SQLite's handles with an owner, as far as recordings need them.
namespace strata {

/// A foreign database, opened so that it can do no harm, or a database of Strata to be written.
class CaptureDatabase {
 public:
  static CaptureDatabase open_to_read(const std::filesystem::path& path);
  /// Of bytes that outlive it.
  static CaptureDatabase in_memory(std::string_view bytes);
  static CaptureDatabase create(const std::filesystem::path& path);

  CaptureDatabase(CaptureDatabase&& other) noexcept;
  CaptureDatabase& operator=(CaptureDatabase&&) = delete;
  ~CaptureDatabase();

  void run(const std::string& sql) const;
  bool has_table(std::string_view name) const;
  std::vector<std::string> columns_of(std::string_view table) const;
  [[noreturn]] void fail_here() const;
  sqlite3* handle() const { return handle_; }

 private:
  CaptureDatabase() = default;
  void make_safe();

  sqlite3* handle_ = nullptr;
  bool is_read_ = false;  ///< a file that cannot be used is the file's fault then
};

class CaptureStatement {
 public:
  CaptureStatement(const CaptureDatabase& database, const std::string& sql);
  ~CaptureStatement();
  CaptureStatement(const CaptureStatement&) = delete;
  CaptureStatement& operator=(const CaptureStatement&) = delete;

  bool step();  ///< whether there is a row
  void reset();
  void bind(int at, std::optional<std::int64_t> number);
  void bind_real(int at, double number);
  void bind_text(int at, std::string_view text);

  bool is_null(int column) const;
  std::optional<std::int64_t> number(int column) const;  ///< nothing: null, or no number
  double real(int column) const;
  std::string_view text(int column) const;  ///< until the next step

 private:
  const CaptureDatabase& database_;
  sqlite3_stmt* handle_ = nullptr;
};

/// The rows of a table with these columns in this order; what the table lacks is null. No rows
/// where there is no such table.
class TableRows {
 public:
  TableRows(const CaptureDatabase& database, std::string_view table,
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
  std::optional<CaptureStatement> statement_;
  std::int64_t row_ = 0;
};

}  // namespace strata
