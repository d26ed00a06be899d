// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/loops/result_stream.hpp"

#include <unistd.h>

#include <atomic>

namespace strata::cpu_training {
namespace {

std::int64_t bytes_of_last_cache() {
  std::int64_t bytes = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  bytes =
      std::max<std::int64_t>(::sysconf(_SC_LEVEL2_CACHE_SIZE), ::sysconf(_SC_LEVEL3_CACHE_SIZE));
#endif
  constexpr std::int64_t unknown = std::int64_t{32} << 20;
  return bytes > 0 ? bytes : unknown;
}

std::atomic<int> without_caches = 0;

}  // namespace

std::int64_t bytes_that_caches_keep() {
  static const std::int64_t bytes = bytes_of_last_cache() / 2;
  return bytes;
}

bool is_beyond_caches(std::int64_t bytes) {
  return bytes > bytes_that_caches_keep() || without_caches > 0;
}

AsWithoutCaches::AsWithoutCaches() { ++without_caches; }
AsWithoutCaches::~AsWithoutCaches() { --without_caches; }

}  // namespace strata::cpu_training
