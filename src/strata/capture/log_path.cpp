// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/log_path.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace strata {

std::string host_name() {
  std::array<char, 256> name = {};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::int64_t rank_of_process() {
  // In this order: a launcher inside an allocation knows better than the allocation.
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"}) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) continue;
    std::int64_t rank = -1;
    const char* const end = text + std::strlen(text);
    const auto [rest, problem] = std::from_chars(text, end, rank);
    if (problem == std::errc() && rest == end && rank >= 0) return rank;
  }
  return -1;
}

std::string expanded_path(std::string_view pattern) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] != '%' || (next != 'p' && next != 'h' && next != 'r' && next != '%')) {
      path += pattern[i];
      continue;
    }
    ++i;
    if (next == 'p') path += std::to_string(::getpid());
    if (next == 'h') path += host_name();
    if (next == 'r') path += std::to_string(rank_of_process() < 0 ? 0 : rank_of_process());
    if (next == '%') path += '%';
  }
  return path;
}

}  // namespace strata
