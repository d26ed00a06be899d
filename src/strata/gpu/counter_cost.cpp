// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/gpu/range_counters.hpp"

#include <fmt/format.h>

namespace strata {

CounterTable RangeCounters::count_kernels(const CounterPlan&, const CountedWork&) {
  fail(ErrorKind::environment, "counters of {} are read layer by layer only", chip());
}

std::string to_text(const CounterCost& cost) {
  if (cost.sessions == 0) return "no counters";
  std::string text =
      fmt::format("{} session{}, {} run{}", cost.sessions, cost.sessions == 1 ? "" : "s",
                  cost.passes, cost.passes == 1 ? "" : "s");
  if (cost.sass_passes > 0) {
    text += fmt::format(", {} of them with patched kernels that take up to 100 times as long",
                        cost.sass_passes);
  }
  return text;
}

double least_seconds(const CounterCost& cost, double run_s, std::size_t ranges) {
  if (cost.sessions == 0) return 0;
  // Measured on an H200 (driver 580.159, CUPTI 13.0.1): a profiler takes 0.14 s to start and 0.01
  // to 0.03 s to go, a further pass 2.4 ms, a range in a pass 0.05 to 1 ms.
  constexpr double session_s = 0.15, pass_s = 2.4e-3, range_s = 5e-5;
  const double per_pass_s = run_s + pass_s + range_s * static_cast<double>(ranges);
  return session_s * cost.sessions + run_s + per_pass_s * cost.passes;
}

}  // namespace strata
