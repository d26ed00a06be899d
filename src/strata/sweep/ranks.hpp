// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/run_points.hpp"

#include <functional>
#include <memory>
#include <string_view>

/// A sweep on many machines: the ranks of an MPI program share its points. Rank 0 hands them out
/// and writes them; every rank computes.
///
/// MPI takes tenths of a second to start and many libraries to link, so the program that is
/// linked with it is one of its own (mpi_program); `strata` becomes it when it finds itself among
/// several ranks.
namespace strata {

/// Which of how many this process is, as mpirun or srun tell their children. 0 of 1: not known.
struct RankOfCount {
  int rank = 0;
  int count = 1;
};
RankOfCount rank_of_count();

/// The file beside `strata` that is linked with MPI.
inline constexpr std::string_view mpi_program = "strata-mpi";

/// Whether this program is linked with MPI.
bool has_mpi();

/// MPI between its beginning and its end. Errors (environment): this program is not linked with
/// MPI, or the ranks do not find each other.
class RankSession {
 public:
  RankSession();
  ~RankSession();
  RankSession(const RankSession&) = delete;
  RankSession& operator=(const RankSession&) = delete;

  /// On rank 0: runs the points with all ranks. `run.threads` is ignored: a rank is a core.
  SweepOutcome run(const SweepRun& run);
  /// On the others: computes what rank 0 asks for until it has no more. What is computed is logged
  /// in the journal where this rank sees its folder; else rank 0 logs what it hears.
  void serve(const std::function<std::unique_ptr<PointWorker>()>& make_worker,
             SweepJournal* journal);
  /// MPI ends every rank at once, with this exit code; for when the others would wait for ever.
  void end_all(int exit_code);
};

}  // namespace strata
