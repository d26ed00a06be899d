// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

namespace strata {

/// The same program with every larger value cut into parts of `granularity_bytes` (the last may be
/// smaller), each a value that can stay or leave by itself. A step uses all parts of what it used;
/// its arithmetic is the same. The row that must be on chip while the rest streams through lies in
/// the first part (in the first ones where a row is larger than a part); the others need none of
/// it.
Program split_values(const Program& program, std::int64_t granularity_bytes);

}  // namespace strata
