// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked_runs.hpp"

#include <fmt/format.h>

namespace strata {

std::string text_of(const CheckedRuns& checked) {
  if (checked.runs == 0) return "unchecked: no such run of this machine is known";
  return fmt::format("checked on {} run{} of this machine: median {:.0f} %, {:.0f} % inside",
                     checked.runs, checked.runs == 1 ? "" : "s", 100 * checked.median_error,
                     100 * checked.inside);
}

}  // namespace strata
