// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/sweep/ranks.hpp"

namespace strata {
namespace {

[[noreturn]] void refuse_ranks() {
  fail(ErrorKind::environment, "this program is not linked with MPI");
}

}  // namespace

bool has_mpi() { return false; }

RankSession::RankSession() { refuse_ranks(); }
RankSession::~RankSession() = default;
SweepOutcome RankSession::run(const SweepRun&) { refuse_ranks(); }
void RankSession::serve(const std::function<std::unique_ptr<PointWorker>()>&, SweepJournal*) {
  refuse_ranks();
}
void RankSession::end_all(int) { refuse_ranks(); }

}  // namespace strata
