// SPDX-License-Identifier: Apache-2.0
// rank_sweep OUTPUT STATE: a sweep of made-up points on the ranks of MPI, for a test that kills
// them. STATE is a file of RankSweepState, in which they count what they compute and say who they
// are.
#include "tests/sweep/rank_sweep.hpp"

#include "strata/base/error.hpp"
#include "strata/sweep/made_up_sweep_test.hpp"
#include "strata/sweep/ranks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace strata::test {
namespace {

/// Slow, so that a rank is killed amid its work; and only as far as it may: mpirun lets the others
/// live for up to a second after one is killed, in which they could end the sweep.
class PatientWorker final : public CountingWorker {
 public:
  explicit PatientWorker(RankSweepState& state) : CountingWorker(state.finished), state_(state) {}
  PointResult at(std::int64_t point) override {
    if (point % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    while (state_.finished >= state_.allowed)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return CountingWorker::at(point);
  }

 private:
  RankSweepState& state_;
};

int run(const char* output, const char* state_file) {
  SharedState state(state_file);
  const int rank = rank_of_count().rank;
  state->processes.at(static_cast<std::size_t>(rank)) = ::getpid();
  const Grid grid = made_up_grid(rank_sweep_points / 2);
  const SweepColumns columns(grid);
  const SweepIdentity identity{"0123", "9.9", grid.size()};
  const auto make_worker = [&] { return std::make_unique<PatientWorker>(*state); };
  RankSession ranks;
  SweepJournal journal(output, identity);
  if (rank > 0) {
    ranks.serve(make_worker, &journal);
    return 0;
  }
  journal.load(IfPresent::resume);
  const auto sink = text_file_sink(TextForm::csv, output, IfPresent::resume, columns, identity);
  const std::int64_t first = journal.first_wanted(sink->done());
  journal.begin(first, true);
  ranks.run({.range = {first, grid.size(), rank_sweep_points / 2, 1},
             .make_worker = make_worker,
             .sinks = {sink.get()},
             .journal = &journal,
             .rows_end = sink->done()});
  journal.remove();
  return 0;
}

}  // namespace
}  // namespace strata::test

int main(int count, char** words) {
  if (count != 3) return 2;
  try {
    return strata::test::run(words[1], words[2]);
  } catch (const strata::Error& error) {
    std::fputs(fmt::format("{}\n", error.what()).c_str(), stderr);
    return 3;
  }
}
