// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/recording.hpp"

namespace strata {

/// Fills in what follows from the table: FLOP, multiply-adds, kind, what launches nothing. Errors
/// (input) name the operation whose counts do not fit in 64 bits.
void count_work(RecordedOperations& recording);

}  // namespace strata
