// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/run_points.hpp"

#include "strata/base/error.hpp"

#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

namespace strata {
namespace {

constexpr double piece_s = 0.001;
constexpr double patience_s = 0.1;   // between two looks at whether the user wants to stop
constexpr double progress_s = 0.01;  // between two reports

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Joins its threads when it goes. Where the system has no more threads it works with those that it
/// could start. Errors (environment): not even one.
class Workers {
 public:
  Workers(ChunkBoard& board, const SweepRun& run) : board_(board) {
    threads_.reserve(static_cast<std::size_t>(run.threads));
    for (int i = 0; i < run.threads; ++i) {
      try {
        threads_.emplace_back([&board, &run, i] { compute_until_over(board, run, i); });
      } catch (const std::system_error& error) {
        if (threads_.empty())
          fail(ErrorKind::environment, "no thread can be started: {}", error.what());
        return;
      }
    }
  }
  ~Workers() {
    board_.stop();
    for (std::thread& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

 private:
  ChunkBoard& board_;
  std::vector<std::thread> threads_;
};

class RecallingWorker : public PointWorker {
 public:
  RecallingWorker(std::unique_ptr<PointWorker> worker, const SweepJournal& journal)
      : worker_(std::move(worker)), journal_(journal) {}

  PointResult at(std::int64_t point) override {
    const PointResult* known = journal_.find(point);
    return known != nullptr ? *known : compute(point);
  }

 protected:
  virtual PointResult compute(std::int64_t point) { return worker_->at(point); }

 private:
  std::unique_ptr<PointWorker> worker_;
  const SweepJournal& journal_;
};

class LoggingWorker : public RecallingWorker {
 public:
  LoggingWorker(std::unique_ptr<PointWorker> worker, const SweepJournal& journal, int number)
      : RecallingWorker(std::move(worker), journal), log_(journal, number) {}

 private:
  PointResult compute(std::int64_t point) override {
    PointResult result = RecallingWorker::compute(point);
    if (!costs_nothing(result)) log_.append(point, result);
    return result;
  }

  WorkerLog log_;
};

}  // namespace

std::unique_ptr<PointWorker> recalling_worker(std::unique_ptr<PointWorker> worker,
                                              const SweepJournal& journal) {
  return std::make_unique<RecallingWorker>(std::move(worker), journal);
}

std::unique_ptr<PointWorker> journaled_worker(std::unique_ptr<PointWorker> worker,
                                              const SweepJournal& journal, int number) {
  return std::make_unique<LoggingWorker>(std::move(worker), journal, number);
}

void compute_chunk(PointWorker& worker, const Chunk& chunk,
                   const std::function<bool(std::vector<PointResult>)>& deliver) {
  std::vector<PointResult> results;
  double last_s = now_s();
  for (std::int64_t point = chunk.first; point < chunk.end; ++point) {
    results.push_back(worker.at(point));
    const double at_s = now_s();
    if (point + 1 < chunk.end && at_s - last_s < piece_s) continue;
    if (!deliver(std::exchange(results, {}))) return;
    last_s = at_s;
  }
}

void compute_until_over(ChunkBoard& board, const SweepRun& run, int number) {
  try {
    std::unique_ptr<PointWorker> worker = run.make_worker();
    if (run.journal != nullptr) worker = journaled_worker(std::move(worker), *run.journal, number);
    while (const std::optional<Chunk> chunk = board.take()) {
      compute_chunk(*worker, *chunk, [&](std::vector<PointResult> results) {
        return board.deliver(*chunk, std::move(results));
      });
    }
  } catch (...) {
    board.stop(std::current_exception());
  }
}

OrderedWriter::OrderedWriter(const SweepRun& run) : run_(run), last_progress_s_(now_s()) {
  outcome_.done = run.range.first;
  rows_end_ = run.rows_end;
}

void OrderedWriter::write(std::vector<PointResult> results) {
  if (results.empty()) return;
  for (SweepSink* sink : run_.sinks) {
    sink->write(outcome_.done, results);
    sink->flush();
  }
  bool has_lost_work = false;  // if it were killed now: no row tells of it
  for (PointResult& result : results) {
    ++outcome_.computed;
    ++outcome_.done;
    if (result.is_left_out) {
      ++outcome_.left_out;
      has_lost_work = has_lost_work || !costs_nothing(result);
      continue;
    }
    rows_end_ = outcome_.done;
    has_lost_work = false;
    if (result.expected.is_out_of_memory()) ++outcome_.out_of_memory;
    if (result.error.empty()) continue;
    if (++outcome_.failed == 1) outcome_.first_error = std::move(result.error);
  }
  if (run_.journal != nullptr) run_.journal->set_written({outcome_.done, rows_end_}, has_lost_work);
  const double at_s = now_s();
  if (at_s - last_progress_s_ < progress_s) return;
  last_progress_s_ = at_s;
  run_.on_progress(outcome_.done);
}

SweepOutcome OrderedWriter::finish(bool is_interrupted) {
  for (SweepSink* sink : run_.sinks) sink->flush();  // the heading, when there was no point
  run_.on_progress(outcome_.done);
  outcome_.is_interrupted = is_interrupted;
  return outcome_;
}

namespace {

// Nobody to wait for: every point is written before the next one is computed.
SweepOutcome run_alone(const SweepRun& run) {
  OrderedWriter writer(run);
  std::unique_ptr<PointWorker> worker;
  for (std::int64_t point = run.range.first; point < run.range.end; ++point) {
    if (run.is_interrupted()) return writer.finish(true);
    if (worker == nullptr) worker = run.make_worker();
    const PointResult* known = run.journal != nullptr ? run.journal->find(point) : nullptr;
    std::vector<PointResult> result;
    result.push_back(known != nullptr ? *known : worker->at(point));
    writer.write(std::move(result));
  }
  return writer.finish(false);
}

}  // namespace

SweepOutcome run_points(const SweepRun& run) {
  if (run.threads == 1) return run_alone(run);
  const ChunkPlan plan(run.range, run.threads);
  ChunkBoard board(plan, run.threads);
  OrderedWriter writer(run);
  const Workers workers(board, run);
  while (!board.is_finished()) {
    if (run.is_interrupted()) {
      board.stop();
      writer.write(board.collect(0));
      return writer.finish(true);
    }
    writer.write(board.collect(patience_s));
  }
  return writer.finish(false);
}

}  // namespace strata
