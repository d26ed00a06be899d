// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/sqlite_database.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <utility>

namespace strata {
namespace {

constexpr int longest_value_bytes = 64 << 20;

ErrorKind kind_of_status(int status, bool is_read) {
  switch (status & 0xff) {
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_BUSY: return ErrorKind::environment;
    default: return is_read ? ErrorKind::input : ErrorKind::environment;
  }
}

}  // namespace

CaptureDatabase CaptureDatabase::open_to_read(const std::filesystem::path& path) {
  CaptureDatabase database;
  if (sqlite3_open_v2(path.string().c_str(), &database.handle_, SQLITE_OPEN_READONLY, nullptr) !=
      SQLITE_OK) {
    database.fail_here();
  }
  database.make_safe();
  return database;
}

CaptureDatabase CaptureDatabase::in_memory(std::string_view bytes) {
  CaptureDatabase database;
  if (sqlite3_open_v2(":memory:", &database.handle_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK)
    database.fail_here();
  // It is only read: the interface takes bytes that could be written to.
  auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  if (sqlite3_deserialize(database.handle_, "main", data, size, size,
                          SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
    database.fail_here();
  }
  database.make_safe();
  return database;
}

CaptureDatabase CaptureDatabase::create(const std::filesystem::path& path) {
  CaptureDatabase database;
  if (sqlite3_open_v2(path.string().c_str(), &database.handle_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) != SQLITE_OK) {
    database.fail_here();
  }
  return database;
}

CaptureDatabase::CaptureDatabase(CaptureDatabase&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), is_read_(other.is_read_) {}

CaptureDatabase::~CaptureDatabase() { sqlite3_close(handle_); }

/// A file of a stranger may hold views, triggers and functions; none of them runs.
void CaptureDatabase::make_safe() {
  is_read_ = true;
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, longest_value_bytes);
  run("PRAGMA cell_size_check=ON");
  run("PRAGMA mmap_size=0");
}

void CaptureDatabase::fail_here() const {
  const int status = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle_);
  fail(kind_of_status(status, is_read_), "the database cannot be used: {}",
       handle_ == nullptr ? "no memory" : sqlite3_errmsg(handle_));
}

void CaptureDatabase::run(const std::string& sql) const {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail_here();
}

bool CaptureDatabase::has_table(std::string_view name) const {
  CaptureStatement query(*this,
                         "SELECT 1 FROM sqlite_master WHERE type='table' AND name=? AND sql NOT "
                         "LIKE 'CREATE VIRTUAL%'");
  query.bind_text(1, name);
  return query.step();
}

std::vector<std::string> CaptureDatabase::columns_of(std::string_view table) const {
  CaptureStatement query(*this, "SELECT name FROM pragma_table_info(?)");
  query.bind_text(1, table);
  std::vector<std::string> names;
  while (query.step()) names.emplace_back(query.text(0));
  return names;
}

CaptureStatement::CaptureStatement(const CaptureDatabase& database, const std::string& sql)
    : database_(database) {
  if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &handle_, nullptr) != SQLITE_OK)
    database.fail_here();
}

CaptureStatement::~CaptureStatement() { sqlite3_finalize(handle_); }

bool CaptureStatement::step() {
  const int status = sqlite3_step(handle_);
  if (status != SQLITE_ROW && status != SQLITE_DONE) database_.fail_here();
  return status == SQLITE_ROW;
}

void CaptureStatement::reset() { sqlite3_reset(handle_); }

void CaptureStatement::bind(int at, std::optional<std::int64_t> number) {
  if (number) {
    sqlite3_bind_int64(handle_, at, *number);
  } else {
    sqlite3_bind_null(handle_, at);
  }
}

void CaptureStatement::bind_real(int at, double number) {
  sqlite3_bind_double(handle_, at, number);
}

void CaptureStatement::bind_text(int at, std::string_view text) {
  sqlite3_bind_text64(handle_, at, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

bool CaptureStatement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

std::optional<std::int64_t> CaptureStatement::number(int column) const {
  if (sqlite3_column_type(handle_, column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(handle_, column);
}

double CaptureStatement::real(int column) const { return sqlite3_column_double(handle_, column); }

std::string_view CaptureStatement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(handle_, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

TableRows::TableRows(const CaptureDatabase& database, std::string_view table,
                     std::initializer_list<std::string_view> columns)
    : table_(table) {
  if (!database.has_table(table)) return;
  const std::vector<std::string> there = database.columns_of(table);
  std::string list;
  for (const std::string_view column : columns) {
    const bool is_there = std::find(there.begin(), there.end(), column) != there.end();
    list += fmt::format("{}{}", list.empty() ? "" : ",",
                        is_there ? fmt::format("\"{}\"", column) : "NULL");
  }
  statement_.emplace(database, fmt::format("SELECT {} FROM \"{}\"", list, table));
}

bool TableRows::next() {
  if (!statement_ || !statement_->step()) return false;
  ++row_;
  return true;
}

void TableRows::refuse(std::string_view why) const {
  fail(ErrorKind::input, "table {}, row {}: {}", table_, row_, why);
}

}  // namespace strata
