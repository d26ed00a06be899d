// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/journal.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace strata {
namespace {

constexpr std::string_view kept_name = "kept";
constexpr std::string_view new_kept_name = "kept.new";
constexpr std::string_view mark_name = "passed";
constexpr std::string_view magic = "strata_journal 1 ";
constexpr std::int64_t most_log_bytes = 1 << 22;

std::string begin_of(const std::filesystem::path& file, std::size_t size) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(size, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(size));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

/// A worker's log ("12a"), what was kept of them, or the mark.
bool is_name_of_a_journal(const std::string& name) {
  if (name == kept_name || name == new_kept_name || name == mark_name) return true;
  return name.size() > 1 && (name.ends_with('a') || name.ends_with('b')) &&
         name.find_first_not_of("0123456789") == name.size() - 1;
}

// A log that was cut off within its first words is one still.
bool is_of_a_journal(const std::filesystem::path& file) {
  std::error_code problem;
  return std::filesystem::symlink_status(file, problem).type() ==
             std::filesystem::file_type::regular &&
         is_name_of_a_journal(file.filename().string()) &&
         magic.starts_with(begin_of(file, magic.size()));
}

void remove_log(const std::filesystem::path& file) {
  std::error_code ignored;
  if (is_of_a_journal(file)) std::filesystem::remove(file, ignored);
}

}  // namespace

SweepJournal::SweepJournal(const std::filesystem::path& output, const SweepIdentity& identity)
    : folder_(output.string() + ".part"),
      head_(fmt::format("{}identity {} version {} points {} record {}\n", magic, identity.hash,
                        identity.version, identity.points, packed_bytes())) {}

std::vector<std::filesystem::path> SweepJournal::files() const {
  std::vector<std::filesystem::path> files;
  if (!is_own_folder()) return files;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, problem))
    files.push_back(entry.path());
  if (problem) refuse("cannot be read; nothing was changed");
  return files;
}

bool SweepJournal::is_own_folder() const {
  struct stat there {};
  if (::lstat(folder_.c_str(), &there) != 0) return false;
  // Whoever may write to the folder, or may put another one behind a link, decides on the results.
  if (!S_ISDIR(there.st_mode) || there.st_uid != ::geteuid())
    refuse("is no journal of a sweep of yours; nothing was changed: move it away");
  return true;
}

void SweepJournal::refuse(std::string_view why) const {
  fail(ErrorKind::usage, "{} {}", folder_.string(), why);
}

void SweepJournal::load(IfPresent if_present) {
  const std::vector<std::filesystem::path> present = files();
  if (!std::all_of(present.begin(), present.end(), is_of_a_journal))
    refuse("holds what no sweep wrote; nothing was changed: move it away");
  if (if_present == IfPresent::replace || present.empty()) return;
  if (if_present == IfPresent::refuse) {
    refuse(
        "has points of a sweep that was cut off; give --resume to go on with it, or --force to "
        "replace it");
  }
  for (const std::filesystem::path& file : present) {
    const bool is_mark = file.filename() == mark_name;
    const bool is_of_this_sweep =
        read_journal_log(file, head_, [&](std::int64_t point, PointResult result) {
          if (!is_mark) add(point, std::move(result));
        });
    if (!is_of_this_sweep) {
      refuse(
          "holds no points of this sweep by this version; nothing was changed (--force replaces "
          "it)");
    }
  }
  mark_ = read_journal_mark(folder_ / mark_name, head_);
}

std::int64_t SweepJournal::first_wanted(std::int64_t done) const {
  return mark_.rows_end == done ? std::max(done, mark_.done) : done;
}

void SweepJournal::begin(std::int64_t first, bool will_log) {
  set_written(first);
  std::erase_if(loaded_, [&](const auto& entry) { return entry.first < first; });
  const std::vector<std::filesystem::path> before = files();
  if (will_log) make_folder();
  if (!loaded_.empty()) {
    const std::unique_ptr<JournalLog> log = make_log(new_kept_name);
    for (const auto& [point, result] : loaded_) log->append(point, result);
    std::error_code problem;
    std::filesystem::rename(folder_ / new_kept_name, folder_ / kept_name, problem);
    if (problem)
      fail(ErrorKind::environment, "cannot write {}: {}", folder_.string(), problem.message());
  }
  for (const std::filesystem::path& file : before) {
    const bool is_kept = file.filename() == mark_name
                             ? mark_.done > 0
                             : file.filename() == kept_name && !loaded_.empty();
    if (!is_kept) remove_log(file);
  }
}

void SweepJournal::make_folder() const {
  if (is_own_folder()) return;
  if (::mkdir(folder_.c_str(), 0700) != 0)
    fail(ErrorKind::environment, "cannot make the folder {}: {}", folder_.string(),
         std::generic_category().message(errno));
}

void SweepJournal::remove() {
  for (const std::filesystem::path& file : files()) remove_log(file);
  std::error_code ignored;
  std::filesystem::remove(folder_, ignored);  // stays where somebody else put something into it
}

const PointResult* SweepJournal::find(std::int64_t point) const {
  const auto found = loaded_.find(point);
  return found == loaded_.end() ? nullptr : &found->second;
}

std::vector<std::pair<std::int64_t, PointResult>> SweepJournal::loaded(const Chunk& chunk) const {
  std::vector<std::pair<std::int64_t, PointResult>> found;
  if (loaded_.empty()) return found;
  for (std::int64_t point = chunk.first; point < chunk.end; ++point) {
    if (const PointResult* result = find(point)) found.emplace_back(point, *result);
  }
  return found;
}

void SweepJournal::set_written(const JournalMark& written, bool is_marked) {
  set_written(written.done);
  if (!is_marked) return;
  if (mark_file_ == nullptr) {
    make_folder();
    mark_file_ = std::make_unique<JournalMarkFile>(folder_ / mark_name, head_);
  }
  mark_file_->set(written);
}

bool SweepJournal::is_here() const {
  std::error_code problem;
  return std::filesystem::is_directory(folder_, problem);
}

std::unique_ptr<JournalLog> SweepJournal::make_log(std::string_view name) const {
  return std::make_unique<JournalLog>(folder_ / name, head_);
}

void WorkerLog::append(std::int64_t point, const PointResult& result) {
  if (log_at(now_).bytes() > most_log_bytes) {
    JournalLog& other = log_at(1 - now_);
    if (other.last_point() < journal_.written()) {
      other.clear();
      now_ = 1 - now_;
    }
  }
  log_at(now_).append(point, result);
}

JournalLog& WorkerLog::log_at(std::size_t which) {
  if (logs_[which] == nullptr)
    logs_[which] = journal_.make_log(fmt::format("{}{}", number_, which == 0 ? "a" : "b"));
  return *logs_[which];
}

}  // namespace strata
