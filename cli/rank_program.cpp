// SPDX-License-Identifier: Apache-2.0
#include "cli/rank_program.hpp"

#include "strata/base/error.hpp"
#include "strata/sweep/ranks.hpp"

#include <unistd.h>

#include <filesystem>
#include <vector>

namespace strata {

void become_mpi_program(std::span<const std::string> words) {
  std::error_code problem;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", problem);
  const std::string program = (here.parent_path() / mpi_program).string();
  std::vector<std::string> copies = {program};
  copies.insert(copies.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  fail(ErrorKind::environment,
       "started as one of several ranks, but this build has no MPI ({} is not there); install "
       "libopenmpi-dev and build again, or start it without mpirun",
       program);
}

}  // namespace strata
