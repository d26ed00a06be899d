// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <cstddef>
#include <cstdint>

/// What it takes to plan a program: known before it is planned.
namespace strata {

/// Its length in steps: a step of many parts counts as several, as each use is planned.
std::size_t planned_length(const Program& program);

/// The most memory that a prediction takes of it, roughly, with the program itself: a test compares
/// it with what predictions do take.
std::int64_t planning_bytes(const Program& program);

}  // namespace strata
