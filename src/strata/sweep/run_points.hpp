// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/chunks.hpp"
#include "strata/sweep/journal.hpp"
#include "strata/sweep/sink.hpp"

#include <functional>
#include <memory>
#include <vector>

/// Runs the points of a sweep on threads, or on the ranks of an MPI program, and writes them in
/// order.
namespace strata {

/// Computes points; one object per thread. Errors of a point are in its result; what is thrown ends
/// the sweep.
class PointWorker {
 public:
  virtual ~PointWorker() = default;
  virtual PointResult at(std::int64_t point) = 0;
};

struct SweepRun {
  PointRange range;
  std::function<std::unique_ptr<PointWorker>()> make_worker;
  std::vector<SweepSink*> sinks;
  SweepJournal* journal = nullptr;  ///< keeps what is computed out of order; null: nothing does
  std::int64_t rows_end = 0;        ///< behind the last point of which the sinks have a row
  std::int64_t threads = 1;
  std::function<bool()> is_interrupted = [] { return false; };
  /// Called now and then by the thread that called run_points.
  std::function<void(std::int64_t done)> on_progress = [](std::int64_t) {};
};

struct SweepOutcome {
  std::int64_t done = 0;           ///< points that are in every sink now
  std::int64_t failed = 0;         ///< of those computed now
  std::int64_t left_out = 0;       ///< of those computed now, by a constraint
  std::int64_t out_of_memory = 0;  ///< of those computed now and not left out
  std::int64_t computed = 0;       ///< now, not in an earlier run
  std::string first_error;         ///< of the first point that failed
  bool is_interrupted = false;
};

SweepOutcome run_points(const SweepRun& run);

/// Computes a chunk and hands the results over in pieces, each after a millisecond or one point,
/// so that little is lost when the process is killed. `deliver` is false when it should stop.
void compute_chunk(PointWorker& worker, const Chunk& chunk,
                   const std::function<bool(std::vector<PointResult>)>& deliver);

/// A worker that takes what the journal has of an earlier run.
std::unique_ptr<PointWorker> recalling_worker(std::unique_ptr<PointWorker> worker,
                                              const SweepJournal& journal);
/// The same, and what it computes it logs. `number` tells it from the other workers of the run.
std::unique_ptr<PointWorker> journaled_worker(std::unique_ptr<PointWorker> worker,
                                              const SweepJournal& journal, int number);

/// Computes chunks until there are no more; an error stops the board. For a thread of its own.
void compute_until_over(ChunkBoard& board, const SweepRun& run, int number);

/// Takes results in order and writes them: when write() is over, the system has them, and they are
/// not lost when the process is killed.
class OrderedWriter {
 public:
  explicit OrderedWriter(const SweepRun& run);
  void write(std::vector<PointResult> results);
  SweepOutcome finish(bool is_interrupted);

 private:
  const SweepRun& run_;
  SweepOutcome outcome_;
  std::int64_t rows_end_ = 0;  // behind the last point that was not left out
  double last_progress_s_ = 0;
};

}  // namespace strata
