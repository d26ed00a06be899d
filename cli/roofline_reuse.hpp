// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"

#include <cstddef>

namespace strata {

/// Where `strata roofline MODEL --reuse` writes to: flags of the command.
struct ReuseOutputs {
  const Flag& plot;
  const Flag& png;
  const Flag& json;
  const Flag& csv;
};

/// `strata roofline MODEL --reuse`: the roofline over reuse frequency, which needs no profile.
int run_reuse_roofline(const Request& request, const Flag& on, std::size_t top,
                       const ReuseOutputs& outputs);

}  // namespace strata
