// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/ranks.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace strata {
namespace {

struct RankVariables {
  const char* rank;
  const char* count;
};

// Open MPI; MPICH, Intel and Cray; a step of Slurm. A batch script of Slurm alone sets
// SLURM_NTASKS too, so that says nothing.
constexpr RankVariables rank_variables[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                            {"PMI_RANK", "PMI_SIZE"},
                                            {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

int number_in_environment(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing changes it
  int number = -1;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace

RankOfCount rank_of_count() {
  for (const RankVariables& names : rank_variables) {
    const int rank = number_in_environment(names.rank);
    const int count = number_in_environment(names.count);
    if (rank >= 0 && count > 1) return {rank, count};
  }
  return {};
}

}  // namespace strata
