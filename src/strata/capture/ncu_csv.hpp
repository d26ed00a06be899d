// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/byte_source.hpp"
#include "strata/capture/recording.hpp"

#include <string_view>

namespace strata {

/// What `ncu --csv --page raw` (a column per metric, units in the second row) or `--page details`
/// (a row per metric) prints: kernels with counters and durations, one after the other, without the
/// times at which they ran. Lines before the head of the table are left out. Errors (input) name
/// the line.
Recording read_ncu_csv(ByteSource& source);

/// Whether the beginning of a file looks like it.
bool looks_like_ncu_csv(std::string_view beginning);

}  // namespace strata
