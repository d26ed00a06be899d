// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/recording.hpp"

namespace strata {

/// Fills in what follows from the table: FLOP, multiply-adds, kind, what launches nothing. Errors
/// (input) name the operation whose counts do not fit in 64 bits.
void count_work(RecordedOperations& recording);

/// The memory that libraries take for a recurrent layer while it runs, beyond what it reads and
/// writes; of other operations 0.
std::int64_t scratch_bytes(const RecordedOperations& recording, const RecordedOperation& operation);

}  // namespace strata
