// SPDX-License-Identifier: Apache-2.0
// Stands for cupti/counter_host.cpp and cupti/range_counters.cpp in a build without CUPTI.
#include "strata/base/error.hpp"
#include "strata/gpu/counter_host.hpp"
#include "strata/gpu/no_cupti/refusal.hpp"
#include "strata/gpu/range_counters.hpp"

namespace strata {

std::vector<std::string> countable_chips() {
  fail(ErrorKind::environment, "{}", built_without_cupti);
}

std::unique_ptr<CounterHost> counter_host(const std::string&) {
  fail(ErrorKind::environment, "{}", built_without_cupti);
}

std::unique_ptr<RangeCounters> open_range_counters(int) {
  fail(ErrorKind::environment, "{}", built_without_cupti);
}

}  // namespace strata
