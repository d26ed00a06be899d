// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/predict.hpp"

#include <string>
#include <vector>

/// Plans: what stays on chip from one use to the next.
namespace strata {

/// For every use, the value's next use (its index in Program::uses); no_use after the last.
inline constexpr std::uint32_t no_use = ~std::uint32_t{0};
std::vector<std::uint32_t> next_uses(const Program& program);
/// The step of every use.
std::vector<StepId> steps_of_uses(const Program& program);

struct PlanTraffic {
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;
  std::int64_t total() const { return in_bytes + out_bytes; }
};

/// The bytes that a plan moves, whatever the rates are: what is read and not on chip comes in; what
/// was changed and leaves goes out, once per version, unless nobody needs it again.
PlanTraffic traffic_of(const Program& program, const Plan& plan);

/// What breaks the capacity rule or contradicts itself; for tests and for plans that others make.
/// Empty: nothing.
std::vector<std::string> problems_of(const Program& program, const Plan& plan);

}  // namespace strata
