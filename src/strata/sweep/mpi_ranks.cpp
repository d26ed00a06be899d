// SPDX-License-Identifier: Apache-2.0
#define OMPI_SKIP_MPICXX 1  // the C functions are all there is in today's MPI
#define MPICH_SKIP_MPICXX 1
#include "strata/base/error.hpp"
#include "strata/sweep/ranks.hpp"

#include <mpi.h>

#include <cstring>
#include <deque>
#include <string>
#include <thread>

namespace strata {
namespace {

constexpr int ready_tag = 1;    // rank → 0: nothing to do
constexpr int results_tag = 2;  // rank → 0: a chunk, and the next results of it
constexpr int chunk_tag = 3;    // 0 → rank: a chunk; one without points: there is no more
constexpr double idle_s = 0.001;

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

void send(const void* bytes, std::size_t size, int to, int tag) {
  expect_success(MPI_Send(bytes, static_cast<int>(size), MPI_BYTE, to, tag, MPI_COMM_WORLD),
                 "sending");
}

/// Rank 0: hands out chunks and takes results. One thread of its own computes as well; only this
/// one speaks to the others.
class RankServer {
 public:
  explicit RankServer(const SweepRun& run)
      : run_(run), plan_(run.range, rank_count()), board_(plan_, rank_count()) {}

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
        : board_(board), thread_([&board, &run] { compute_until_over(board, run); }) {}
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
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    expect_success(MPI_Recv(bytes.data(), size, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG,
                            MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                   "receiving");
    if (status.MPI_TAG == ready_tag) {
      waiting_.push_back(status.MPI_SOURCE);
    } else {
      Chunk chunk;
      STRATA_CHECK(bytes.size() >= sizeof chunk, "a message between ranks is cut off");
      std::memcpy(&chunk, bytes.data(), sizeof chunk);
      board_.deliver(chunk, unpacked(std::string_view(bytes).substr(sizeof chunk)));
    }
    return true;
  }

  void hand_out() {
    while (!waiting_.empty()) {
      bool is_over = false;
      const std::optional<Chunk> chunk = board_.try_take(is_over);
      if (!chunk) return;  // later; or never, and then dismiss() says so
      send(&*chunk, sizeof *chunk, waiting_.front(), chunk_tag);
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
      const Chunk none;
      send(&none, sizeof none, waiting_.front(), chunk_tag);
      waiting_.pop_front();
      ++dismissed;
    }
  }

  const SweepRun& run_;
  ChunkPlan plan_;
  ChunkBoard board_;
  std::deque<int> waiting_;
};

}  // namespace

bool has_mpi() { return true; }

RankSession::RankSession() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank_count() > 1 || rank_place().count == 1) return;
  MPI_Finalize();
  fail(ErrorKind::environment,
       "started as one of {} processes, but MPI knows of one only; start it with the mpirun of the "
       "MPI it was built with (srun may need --mpi=pmix)",
       rank_place().count);
}

RankSession::~RankSession() { MPI_Finalize(); }

SweepOutcome RankSession::run(const SweepRun& run) { return RankServer(run).run(); }

void RankSession::serve(const std::function<std::unique_ptr<PointWorker>()>& make_worker) {
  const std::unique_ptr<PointWorker> worker = make_worker();
  for (;;) {
    send(nullptr, 0, 0, ready_tag);
    Chunk chunk;
    expect_success(
        MPI_Recv(&chunk, sizeof chunk, MPI_BYTE, 0, chunk_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        "receiving");
    if (chunk.first >= chunk.end) return;
    compute_chunk(*worker, chunk, [&](std::vector<PointResult> results) {
      const std::string body = packed(results);
      std::string bytes(sizeof chunk, '\0');
      std::memcpy(bytes.data(), &chunk, sizeof chunk);
      bytes += body;
      send(bytes.data(), bytes.size(), 0, results_tag);
      return true;
    });
  }
}

void RankSession::end_all(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

}  // namespace strata
