// SPDX-License-Identifier: Apache-2.0
#include "strata/base/sqlite_database.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <system_error>
#include <utility>

namespace strata {
namespace {

constexpr int longest_value_bytes = 64 << 20;
constexpr int longest_sql_bytes = 1 << 20;
constexpr int steps_between_looks = 10'000;

ErrorKind kind_of_status(int status, bool is_read) {
  switch (status & 0xff) {
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_BUSY: return ErrorKind::environment;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
    case SQLITE_INTERRUPT: return ErrorKind::input;
    default: return is_read ? ErrorKind::input : ErrorKind::environment;
  }
}

/// Of this thread: a busy or suspended computer does not make a file bad.
double cpu_time_s() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int look_at_budget(void* budget) {
  return static_cast<SqliteBudget*>(budget)->is_over_after(steps_between_looks) ? 1 : 0;
}

std::int64_t bytes_of_file(const std::filesystem::path& path) {
  std::error_code problem;
  const std::uintmax_t size = std::filesystem::file_size(path, problem);
  return problem ? 0 : static_cast<std::int64_t>(size);
}

/// SQLite goes on with what a writer left behind only where it may write.
bool has_unfinished_work(const std::filesystem::path& path) {
  return bytes_of_file(path.string() + "-wal") > 0 || bytes_of_file(path.string() + "-journal") > 0;
}

/// A path with an option of SQLite. immutable=1 says that nobody writes the file: SQLite then makes
/// no files of its own beside it, which a database with a write-ahead log would need even for
/// reading.
std::string uri_of(const std::filesystem::path& path, std::string_view option) {
  std::string name = "file://";
  for (const char c : std::filesystem::absolute(path).string()) {
    if (c == '%' || c == '?' || c == '#') {
      name += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      name += c;
    }
  }
  return fmt::format("{}?{}", name, option);
}

/// The journal of a transaction over several databases names a file that SQLite removes when it is
/// undone. Strata makes no such transactions, and a stranger could name any file.
void refuse_journal_of_many(const std::filesystem::path& path) {
  constexpr std::string_view magic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  const std::filesystem::path journal = path.string() + "-journal";
  std::ifstream file(journal, std::ios::binary);
  std::string end(magic.size(), '\0');
  file.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
  if (file.read(end.data(), static_cast<std::streamsize>(end.size())) && end == magic)
    fail(ErrorKind::input, "{} is of a transaction that Strata did not make: move it away",
         journal.string());
}

}  // namespace

SqliteBudget::SqliteBudget(std::int64_t file_bytes) : file_bytes_(file_bytes) {}

void SqliteBudget::restart() {
  steps_ = 0;
  begin_s_.reset();
}

bool SqliteBudget::is_over_after(std::int64_t steps) {
  steps_ += steps;
  const double now_s = cpu_time_s();
  if (!begin_s_) begin_s_ = now_s;
  return steps_ / steps_per_byte > least_steps / steps_per_byte + file_bytes_ ||
         now_s - *begin_s_ > least_cpu_s + static_cast<double>(file_bytes_) / bytes_per_cpu_s;
}

void SqliteBudget::take_row(std::int64_t cells) {
  // A cell takes a byte or more, but those that were added to a table behind its rows.
  constexpr std::int64_t cells_per_byte = 8;
  constexpr std::int64_t least_cells = 1'000'000;
  cells_ += cells;
  if ((cells_ - least_cells) / cells_per_byte > file_bytes_)
    fail(ErrorKind::input, "the database has more rows than a file of {} bytes can hold",
         file_bytes_);
}

void SqliteBudget::take_text(std::int64_t bytes) {
  // A number of 8 bytes is written with 20 characters.
  constexpr std::int64_t text_per_byte = 8;
  constexpr std::int64_t least_bytes = 1'000'000;
  text_bytes_ += bytes;
  if ((text_bytes_ - least_bytes) / text_per_byte > file_bytes_)
    fail(ErrorKind::input, "the database has more text than a file of {} bytes can hold",
         file_bytes_);
}

Database::Database(std::filesystem::path path, Use use, std::int64_t bytes)
    : path_(std::move(path)), use_(use), budget_(std::make_unique<SqliteBudget>(bytes)) {}

Database::Database(Database&& other) noexcept
    : path_(std::move(other.path_)),
      use_(other.use_),
      handle_(std::exchange(other.handle_, nullptr)),
      lock_(std::exchange(other.lock_, -1)),
      budget_(std::move(other.budget_)) {}

Database::~Database() {
  sqlite3_close(handle_);
  if (lock_ >= 0) ::close(lock_);  // behind SQLite, whose own locks on the file would go with it
}

Database Database::open_to_read(const std::filesystem::path& path) {
  Database database({}, Use::read, bytes_of_file(path));
  database.lock_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (database.lock_ >= 0 && ::flock(database.lock_, LOCK_SH | LOCK_NB) != 0 &&
      errno == EWOULDBLOCK) {
    fail(ErrorKind::environment, "is being written by another process");
  }
  refuse_journal_of_many(path);
  constexpr int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  if (!has_unfinished_work(path)) {
    database.open(uri_of(path, "immutable=1"), flags);
    return database;
  }
  // What a writer left in its write-ahead log is read, too. SQLite shares an index of the log with
  // other processes in a file beside it, except with a database that is its own: no such file is
  // left behind then, and none is needed in a folder that cannot be written.
  database.open(uri_of(path, "vfs=unix-none"), flags);
  database.run("PRAGMA locking_mode=EXCLUSIVE");
  return database;
}

Database Database::in_memory(std::string_view bytes) {
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  Database database({}, Use::read, size);
  database.open(":memory:", SQLITE_OPEN_READWRITE);
  // It is only read: the interface takes bytes that could be written to.
  auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  if (sqlite3_deserialize(database.handle_, "main", data, size, size,
                          SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
    database.fail_here();
  }
  return database;
}

Database Database::open_to_write(const std::filesystem::path& path) {
  refuse_journal_of_many(path);
  Database database(path, Use::write, bytes_of_file(path));
  database.open(path.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3_busy_timeout(database.handle_, 1000);
  return database;
}

void Database::open(const std::string& name, int flags) {
  if (sqlite3_open_v2(name.c_str(), &handle_, flags, nullptr) != SQLITE_OK) fail_here();
  make_safe();
}

void Database::make_safe() {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, longest_value_bytes);
  sqlite3_limit(handle_, SQLITE_LIMIT_SQL_LENGTH, longest_sql_bytes);
  sqlite3_limit(handle_, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_progress_handler(handle_, steps_between_looks, look_at_budget, budget_.get());
  run("PRAGMA cell_size_check=ON");
  run("PRAGMA mmap_size=0");
}

void Database::begin_call() const {
  if (use_ == Use::write) budget_->restart();
}

void Database::fail_here() const {
  const int status = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle_);
  const std::string_view reason = status == SQLITE_INTERRUPT ? "reading it takes too long"
                                  : status == SQLITE_BUSY    ? "another process is writing it"
                                  : handle_ == nullptr       ? "no memory"
                                                             : sqlite3_errmsg(handle_);
  const ErrorKind kind = kind_of_status(status, use_ == Use::read);
  if (path_.empty()) fail(kind, "the database cannot be used: {}", printable(reason));
  fail(kind, "{}: the database cannot be used: {}", path_.string(), printable(reason));
}

void Database::run(const std::string& sql) const {
  begin_call();
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail_here();
}

bool Database::has_table(std::string_view name) const {
  Statement query(*this,
                  "SELECT 1 FROM sqlite_master WHERE type='table' AND name=? AND sql NOT LIKE "
                  "'CREATE VIRTUAL%'");
  query.bind_text(1, name);
  return query.step();
}

std::vector<std::string> Database::columns_of(std::string_view table) const {
  Statement query(*this, "SELECT name, hidden FROM pragma_table_xinfo(?)");
  query.bind_text(1, table);
  std::vector<std::string> names;
  while (query.step()) {
    names.emplace_back(query.text(0));
    if (query.number(1) != 0)
      fail(ErrorKind::input, "table {}: column '{}' is computed by the database, which is not read",
           table, printable(names.back()));
  }
  return names;
}

Statement::Statement(const Database& database, const std::string& sql) : database_(database) {
  database.begin_call();
  if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &handle_, nullptr) != SQLITE_OK)
    database.fail_here();
}

Statement::~Statement() { sqlite3_finalize(handle_); }

bool Statement::step() {
  database_.begin_call();
  const int status = sqlite3_step(handle_);
  if (status != SQLITE_ROW && status != SQLITE_DONE) database_.fail_here();
  if (status == SQLITE_ROW) database_.budget_->take_row(sqlite3_column_count(handle_));
  return status == SQLITE_ROW;
}

void Statement::reset() { sqlite3_reset(handle_); }

void Statement::bind(int at, std::optional<std::int64_t> number) {
  if (number) {
    sqlite3_bind_int64(handle_, at, *number);
  } else {
    sqlite3_bind_null(handle_, at);
  }
}

void Statement::bind_real(int at, double number) { sqlite3_bind_double(handle_, at, number); }

void Statement::bind_text(int at, std::string_view text) {
  sqlite3_bind_text64(handle_, at, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

bool Statement::is_number(int column) const {
  const int type = sqlite3_column_type(handle_, column);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

std::optional<std::int64_t> Statement::number(int column) const {
  if (sqlite3_column_type(handle_, column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(handle_, column);
}

double Statement::real(int column) const { return sqlite3_column_double(handle_, column); }

std::string_view Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(handle_, column);
  if (bytes == nullptr) return {};
  const int size = sqlite3_column_bytes(handle_, column);
  database_.budget_->take_text(size);
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

TableRows::TableRows(const Database& database, std::string_view table,
                     std::initializer_list<std::string_view> columns)
    : table_(table) {
  if (!database.has_table(table)) return;
  const std::vector<std::string> there = database.columns_of(table);
  std::string list;
  for (const std::string_view column : columns) {
    const bool is_there = std::find(there.begin(), there.end(), column) != there.end();
    list += fmt::format("{}{}", list.empty() ? "" : ",",
                        is_there ? quoted_sql_name(column) : std::string("NULL"));
  }
  statement_.emplace(database,
                     fmt::format("SELECT {} FROM {} NOT INDEXED", list, quoted_sql_name(table)));
}

bool TableRows::next() {
  if (!statement_ || !statement_->step()) return false;
  ++row_;
  return true;
}

void TableRows::refuse(std::string_view why) const {
  fail(ErrorKind::input, "table {}, row {}: {}", table_, row_, why);
}

std::string quoted_sql_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace strata
