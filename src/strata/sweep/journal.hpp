// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/chunks.hpp"
#include "strata/sweep/journal_log.hpp"
#include "strata/sweep/journal_mark.hpp"
#include "strata/sweep/sink.hpp"

#include <atomic>
#include <memory>
#include <unordered_map>
#include <utility>

/// What workers have computed and the output does not have yet, because an earlier point is
/// missing: a folder beside the output, with logs for each worker. With it a sweep that is killed
/// loses at most the point that each worker had under way; without it the order of the output
/// would cost all that lay behind the slowest point.
namespace strata {

class SweepJournal {
 public:
  /// Touches nothing. `output` is the file of results beside which it lies, as FILE.part.
  SweepJournal(const std::filesystem::path& output, const SweepIdentity& identity);

  /// Reads what an earlier run left. Errors (usage), before anything is changed: something is there
  /// that is of another sweep or is no journal, or may not be touched without being asked.
  void load(IfPresent if_present);
  /// The first point that is still wanted when the output has those before `done`: a constraint may
  /// have left out points behind its last row.
  std::int64_t first_wanted(std::int64_t done) const;
  /// From here on it belongs to this run, which begins at `first` and, on several workers, will
  /// log. What was loaded is kept until the end, so that being killed again costs nothing.
  void begin(std::int64_t first, bool will_log);
  /// The output has everything, or nothing that is worth keeping.
  void remove();

  /// What was loaded of a point; null: it has to be computed.
  const PointResult* find(std::int64_t point) const;
  /// The same for all points of a chunk, for another process; and there.
  std::vector<std::pair<std::int64_t, PointResult>> loaded(const Chunk& chunk) const;
  void add(std::int64_t point, PointResult result) { loaded_[point] = std::move(result); }

  /// Every point before `done` is safe in the output, whose rows end before `rows_end`: logs need
  /// not keep them. `is_marked`: and no row says so.
  void set_written(const JournalMark& written, bool is_marked);
  void set_written(std::int64_t done) { written_.store(done, std::memory_order_relaxed); }
  std::int64_t written() const { return written_.load(std::memory_order_relaxed); }

  /// Whether this process sees the folder; one on another machine may not.
  bool is_here() const;
  /// Makes a log of the folder; the name tells the logs of a run apart.
  std::unique_ptr<JournalLog> make_log(std::string_view name) const;

 private:
  std::vector<std::filesystem::path> files() const;
  /// False: there is none. Errors (usage): something else is in its place.
  bool is_own_folder() const;
  void make_folder() const;
  [[noreturn]] void refuse(std::string_view why) const;

  std::filesystem::path folder_;
  std::string head_;
  std::unordered_map<std::int64_t, PointResult> loaded_;
  JournalMark mark_;
  std::unique_ptr<JournalMarkFile> mark_file_;
  std::atomic<std::int64_t> written_ = 0;
};

/// The logs of one worker, two in turn: while one is written, the other waits until the output has
/// all that it holds. So they stay small however long the sweep is.
class WorkerLog {
 public:
  /// `number`: one that no other worker of the run has.
  WorkerLog(const SweepJournal& journal, int number) : journal_(journal), number_(number) {}
  void append(std::int64_t point, const PointResult& result);

 private:
  JournalLog& log_at(std::size_t which);

  const SweepJournal& journal_;
  const int number_;
  std::unique_ptr<JournalLog> logs_[2];
  std::size_t now_ = 0;
};

}  // namespace strata
