// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace strata {

/// Becomes the program that is linked with MPI, with the same words. Errors (environment): it is
/// not beside this one, because MPI was not there when it was built.
[[noreturn]] void become_mpi_program(std::span<const std::string> words);

}  // namespace strata
