// SPDX-License-Identifier: Apache-2.0
#define OMPI_SKIP_MPICXX 1  // the C functions are all there is in today's MPI
#define MPICH_SKIP_MPICXX 1
#include "strata/base/error.hpp"
#include "strata/sweep/ranks.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <thread>

namespace strata {
namespace {

constexpr int ready_tag = 1;    // rank → 0: nothing to do
constexpr int results_tag = 2;  // rank → 0: ResultsHead, and the next results of a chunk
constexpr int chunk_tag = 3;    // 0 → rank: ChunkHead, and points of it that are known already
constexpr double idle_s = 0.001;

struct ChunkHead {
  Chunk chunk;               // one without points: there is no more
  std::int64_t written = 0;  // points before this one are in the output
  std::int64_t known = 0;    // so many numbers of points follow, and their results
};

struct ResultsHead {
  Chunk chunk;
  bool is_logged = false;  // by the rank itself; else rank 0 has to
};

template <class T>
T taken_from(std::string_view& bytes) {
  T value;
  STRATA_CHECK(bytes.size() >= sizeof value, "a message between ranks is cut off");
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

template <class T>
void append_bytes(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void expect_success(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int size = 0;
  MPI_Error_string(status, text, &size);
  fail(ErrorKind::environment, "MPI: {} failed: {}", what,
       std::string_view(text, static_cast<std::size_t>(size)));
}

int rank_count() {
  int count = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  return count;
}

int rank_number() {
  int number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  return number;
}

void send(const void* bytes, std::size_t size, int to, int tag) {
  expect_success(MPI_Send(bytes, static_cast<int>(size), MPI_BYTE, to, tag, MPI_COMM_WORLD),
                 "sending");
}

std::string received(const MPI_Status& probed) {
  int size = 0;
  MPI_Get_count(&probed, MPI_BYTE, &size);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  expect_success(MPI_Recv(bytes.data(), size, MPI_BYTE, probed.MPI_SOURCE, probed.MPI_TAG,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receiving");
  return bytes;
}

/// Rank 0: hands out chunks and takes results. One thread of its own computes as well; only this
/// one speaks to the others.
class RankServer {
 public:
  explicit RankServer(const SweepRun& run)
      : run_(run), plan_(run.range, rank_count()), board_(plan_, rank_count()) {
    if (run.journal != nullptr) heard_.emplace(*run.journal, rank_count());
  }

  SweepOutcome run() {
    OrderedWriter writer(run_);
    const ComputingThread computing(board_, run_);
    while (!board_.is_finished()) {
      const bool has_news = hear();
      hand_out();
      if (run_.is_interrupted()) {
        board_.stop();
        writer.write(board_.collect(0));
        return writer.finish(true);
      }
      writer.write(board_.collect(has_news ? 0 : idle_s));
    }
    dismiss();
    return writer.finish(false);
  }

 private:
  class ComputingThread {
   public:
    ComputingThread(ChunkBoard& board, const SweepRun& run)
        : board_(board), thread_([&board, &run] { compute_until_over(board, run, 0); }) {}
    ~ComputingThread() {
      board_.stop();
      thread_.join();
    }
    ComputingThread(const ComputingThread&) = delete;
    ComputingThread& operator=(const ComputingThread&) = delete;

   private:
    ChunkBoard& board_;
    std::thread thread_;
  };

  /// Takes a message if there is one.
  bool hear() {
    int is_there = 0;
    MPI_Status status;
    expect_success(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &status),
                   "listening");
    if (is_there == 0) return false;
    const std::string bytes = received(status);
    if (status.MPI_TAG == ready_tag) {
      waiting_.push_back(status.MPI_SOURCE);
    } else {
      take_results(bytes);
    }
    return true;
  }

  /// Where the chunk of each rank has come to: results come in order.
  void take_results(std::string_view bytes) {
    const auto head = taken_from<ResultsHead>(bytes);
    std::vector<PointResult> results = unpacked(bytes);
    std::int64_t& next = next_of_[head.chunk.number];
    next = std::max(next, head.chunk.first);
    for (const PointResult& result : results) {
      if (heard_ && !head.is_logged && !costs_nothing(result)) heard_->append(next, result);
      ++next;
    }
    if (next == head.chunk.end) next_of_.erase(head.chunk.number);
    board_.deliver(head.chunk, std::move(results));
  }

  std::string message_of(const Chunk& chunk) const {
    ChunkHead head{.chunk = chunk};
    std::string numbers;
    std::vector<PointResult> results;
    if (run_.journal != nullptr) {
      head.written = run_.journal->written();
      for (auto& [point, result] : run_.journal->loaded(chunk)) {
        append_bytes(numbers, point);
        results.push_back(std::move(result));
      }
    }
    head.known = static_cast<std::int64_t>(results.size());
    std::string bytes;
    append_bytes(bytes, head);
    return bytes + numbers + packed(results);
  }

  void hand_out() {
    while (!waiting_.empty()) {
      bool is_over = false;
      const std::optional<Chunk> chunk = board_.try_take(is_over);
      if (!chunk) return;  // later; or never, and then dismiss() says so
      const std::string message = message_of(*chunk);
      send(message.data(), message.size(), waiting_.front(), chunk_tag);
      waiting_.pop_front();
    }
  }

  /// Everything is computed, so every other rank is waiting or about to.
  void dismiss() {
    for (int dismissed = 0; dismissed < rank_count() - 1;) {
      if (waiting_.empty()) {
        if (!hear()) std::this_thread::yield();
        continue;
      }
      const ChunkHead none;
      send(&none, sizeof none, waiting_.front(), chunk_tag);
      waiting_.pop_front();
      ++dismissed;
    }
  }

  const SweepRun& run_;
  ChunkPlan plan_;
  ChunkBoard board_;
  std::deque<int> waiting_;
  std::optional<WorkerLog> heard_;                // results that no rank has logged
  std::map<std::int64_t, std::int64_t> next_of_;  // by chunk: the point that comes next
};

void take_known(SweepJournal& journal, const ChunkHead& head, std::string_view bytes) {
  std::vector<std::int64_t> points;
  for (std::int64_t i = 0; i < head.known; ++i) points.push_back(taken_from<std::int64_t>(bytes));
  std::vector<PointResult> results = unpacked(bytes);
  STRATA_CHECK(results.size() == points.size(), "a message between ranks is cut off");
  for (std::size_t i = 0; i < points.size(); ++i) journal.add(points[i], std::move(results[i]));
  journal.set_written(head.written);
}

}  // namespace

bool has_mpi() { return true; }

RankSession::RankSession() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank_count() > 1 || rank_of_count().count == 1) return;
  MPI_Finalize();
  fail(ErrorKind::environment,
       "started as one of {} processes, but MPI knows of one only; start it with the mpirun of the "
       "MPI it was built with (srun may need --mpi=pmix)",
       rank_of_count().count);
}

RankSession::~RankSession() { MPI_Finalize(); }

SweepOutcome RankSession::run(const SweepRun& run) { return RankServer(run).run(); }

void RankSession::serve(const std::function<std::unique_ptr<PointWorker>()>& make_worker,
                        SweepJournal* journal) {
  std::unique_ptr<PointWorker> worker;
  bool is_logged = false;
  for (;;) {
    send(nullptr, 0, 0, ready_tag);
    MPI_Status status;
    expect_success(MPI_Probe(0, chunk_tag, MPI_COMM_WORLD, &status), "listening");
    const std::string message = received(status);
    std::string_view bytes = message;
    const auto head = taken_from<ChunkHead>(bytes);
    if (head.chunk.first >= head.chunk.end) return;
    if (worker == nullptr) {  // not before rank 0 has read what an earlier run has logged
      is_logged = journal != nullptr && journal->is_here();
      worker = make_worker();
      if (is_logged) {
        worker = journaled_worker(std::move(worker), *journal, rank_number());
      } else if (journal != nullptr) {
        worker = recalling_worker(std::move(worker), *journal);
      }
    }
    if (journal != nullptr) take_known(*journal, head, bytes);
    compute_chunk(*worker, head.chunk, [&](const std::vector<PointResult>& results) {
      std::string answer;
      append_bytes(answer, ResultsHead{head.chunk, is_logged});
      answer += packed(results);
      send(answer.data(), answer.size(), 0, results_tag);
      return true;
    });
  }
}

void RankSession::end_all(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

}  // namespace strata
